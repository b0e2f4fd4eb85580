/** A piece of a word. `quoted`: neither split into words nor read as a pattern. */
export type Part =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  | {
      readonly kind: "variable";
      readonly name: string;
      readonly quoted: boolean;
      /** What follows the name in `${name…}`: ":-", "#", "[@]" …; "" for the plain value, "!" in front of an indirection. */
      readonly operator: string;
      /** The words of subscript and operand: what stands in them runs. */
      readonly operands: readonly Word[];
    }
  | { readonly kind: "command"; readonly script: Script; readonly quoted: boolean }
  | { readonly kind: "process"; readonly script: Script; readonly direction: "<" | ">" }
  | { readonly kind: "arithmetic"; readonly parts: readonly Part[] }
  | { readonly kind: "pattern"; readonly parts: readonly Part[] }
  | { readonly kind: "array"; readonly words: readonly Word[] };

export interface Word {
  readonly parts: readonly Part[];
  /** Offset in the text that was given first, also when the word stands in a text within it. */
  readonly place: number;
}

export interface Assignment {
  readonly name: string;
  /** `x+=y`, `x[1]=y` and `x=(y)` leave a value that is not followed. */
  readonly plain: boolean;
  /** The words of subscript and value. */
  readonly words: readonly Word[];
}

export interface Redirect {
  readonly operator: string;
  readonly target: Word;
  /** Of a here-document: filled in when its body is reached. */
  body?: Word;
}

export interface Script {
  readonly items: readonly Item[];
}

/** A pipeline, and how it hangs on the one before it. */
export interface Item {
  readonly join: ";" | "&&" | "||";
  readonly stages: readonly Command[];
  background: boolean;
}

export type Command = (
  | {
      readonly kind: "simple";
      readonly assignments: readonly Assignment[];
      readonly words: readonly Word[];
      /** The source after the first word: what an alias is put in front of. */
      readonly tail: string;
    }
  | { readonly kind: "group"; readonly body: Script; readonly subshell: boolean }
  | {
      readonly kind: "if";
      readonly branches: readonly { readonly condition: Script; readonly body: Script }[];
      readonly otherwise: Script | undefined;
    }
  | { readonly kind: "while"; readonly condition: Script; readonly body: Script }
  | {
      readonly kind: "for";
      readonly variable: string;
      /** Left out: the positional parameters. */
      readonly values: readonly Word[] | undefined;
      readonly body: Script;
    }
  /** `((…))`, `[[ … ]]`, and `for ((…))` with a body: words that are evaluated. */
  | { readonly kind: "evaluate"; readonly words: readonly Word[]; readonly body: Script | undefined }
  | {
      readonly kind: "case";
      readonly subject: Word;
      readonly branches: readonly { readonly patterns: readonly Word[]; readonly body: Script }[];
    }
  | { readonly kind: "function"; readonly name: string; readonly body: Command }
  | { readonly kind: "coproc"; readonly body: Command }
) & { readonly redirects: readonly Redirect[]; readonly place: number };

/** Where a text stopped making sense as shell. */
export class ShellSyntaxError extends Error {
  constructor(
    readonly place: number,
    message: string,
  ) {
    super(message);
  }
}
