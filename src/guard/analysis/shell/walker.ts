import type { Environment } from "./environment.js";
import type { Content, Field } from "./fields.js";
import type { ShellAssignment, ShellCommand, ShellRedirect } from "./shell-program.js";

export type InlineLanguage =
  | "python"
  | "javascript"
  | "typescript"
  | "perl"
  | "ruby"
  | "php"
  | "lua"
  | "r"
  | "awk"
  | "sed";

/** What a command reads on standard input. */
export type Stdin =
  | { readonly kind: "inherited" }
  | { readonly kind: "file"; readonly path?: string }
  | { readonly kind: "content"; readonly via: string; readonly content: Content };

/** Where in the program a command stands. */
export interface Context {
  readonly environment: Environment;
  readonly via: readonly string[];
  readonly stdin: Stdin;
  /** Of the groups around it. */
  readonly redirects: readonly ShellRedirect[];
  readonly reads: readonly ShellCommand[];
  /** Texts within texts. */
  readonly depth: number;
  /** A program of another language starts it. */
  readonly byProgram?: true;
}

/** A command whose words are expanded. */
export interface Call extends Context {
  readonly fields: readonly Field[];
  readonly place: number;
  readonly assignments: readonly ShellAssignment[];
  /** The commands of the substitutions in its words. */
  readonly made: readonly ShellCommand[];
  /** The text is for a plain sh, not for bash. */
  readonly posix?: boolean;
  /** False behind a wrapper: there are neither functions nor builtins. */
  readonly inShell: boolean;
}

/** What a wrapper or builtin may do with the command it was given. */
export interface Walker {
  /** Counts the command itself. */
  emit(call: Call): void;
  /** Counts a command that is known only when it runs. */
  emitUnknown(call: Call, ...via: readonly string[]): void;
  /** Runs other words in the place of this command; resolves to what they print. */
  runFields(
    call: Call,
    fields: readonly Field[],
    changes: Partial<Call>,
    ...via: readonly string[]
  ): string | undefined;
  /** Runs a shell text in an environment. */
  runText(call: Call, text: string, environment: Environment, ...via: readonly string[]): string | undefined;
  /** The same for a text whose unknown places are quoted, so that they hold no commands of their own. */
  runQuotedText(call: Call, text: string, environment: Environment, ...via: readonly string[]): void;
  /** Looks into a program of another language. */
  runCode(call: Call, language: InlineLanguage, code: string, ...via: readonly string[]): void;
  /** Runs a file, as far as the text itself has written it; undefined: its first line says what reads it. */
  runFile(call: Call, path: string, language: InlineLanguage | "shell" | undefined): void;
  /** Walks what a text runs when a shell expands it as if it stood in double quotes. */
  expandText(call: Call, text: string, ...via: readonly string[]): void;
  /** What the command prints, where that can be told. */
  outputOf(call: Call): string | undefined;
  /** Walks what setting a variable makes run. */
  runVariable(call: Call, name: string, value: string | undefined): void;
  problem(place: number, what: string): void;
}
