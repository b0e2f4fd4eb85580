import { type Command, type Redirect, type Script, ShellSyntaxError } from "./tree.js";

/** Deeper than any person writes; the stack holds many times as much. */
const MAX_NESTING = 80;

/** More commands than this are not read: the walk would not follow them either. */
const MAX_COMMANDS = 40_000;

export type Locate = (at: number) => number;

/** A here-document whose body comes after the next line end. */
export interface PendingHereDocument {
  readonly redirect: Redirect;
  readonly delimiter: string;
  readonly quoted: boolean;
  readonly stripTabs: boolean;
}

/** Reads commands; handed to the readers of their parts, because commands hold words and words hold commands. */
export interface CommandReaders {
  /** Up to an end. */
  script(scanner: Scanner, end: ")" | ""): Script;
  /** Up to one of the keywords, which is left for the caller. */
  until(scanner: Scanner, keywords: readonly string[]): Script;
  /** One command with its redirections. */
  command(scanner: Scanner): Command;
}

/** A position in a shell text, shared by the readers of words and of commands. */
export class Scanner {
  at = 0;
  hereDocuments: PendingHereDocument[] = [];

  constructor(
    readonly text: string,
    /** The offset in the text that was given first. */
    readonly locate: Locate,
    readonly read: CommandReaders,
    /** A plain sh: `((` opens two subshells. */
    readonly posix: boolean,
    private depth = 0,
  ) {}

  private commands = 0;

  /** False: there have been so many commands that reading on is of no use. */
  countCommand(): boolean {
    this.commands += 1;
    return this.commands <= MAX_COMMANDS;
  }

  get char(): string {
    return this.text.charAt(this.at);
  }

  get done(): boolean {
    return this.at >= this.text.length;
  }

  get place(): number {
    return this.locate(this.at);
  }

  startsWith(prefix: string): boolean {
    return this.text.startsWith(prefix, this.at);
  }

  /** Steps over the text if it stands here. */
  take(text: string): boolean {
    if (!this.startsWith(text)) return false;
    this.at += text.length;
    return true;
  }

  fail(message: string): ShellSyntaxError {
    return new ShellSyntaxError(this.place, message);
  }

  /** Reads one level deeper. */
  nest<T>(read: () => T): T {
    if (this.depth >= MAX_NESTING) throw this.fail(`nested deeper than ${MAX_NESTING} levels`);
    this.depth += 1;
    try {
      return read();
    } finally {
      this.depth -= 1;
    }
  }

  /** A scanner of a text within this one, as deep as this one is now. */
  within(text: string, locate: Locate): Scanner {
    return new Scanner(text, locate, this.read, this.posix, this.depth + 1);
  }

  /** Spaces, tabs, line continuations and, at the start of a token, a comment. */
  skipBlanks(): void {
    for (;;) {
      const char = this.char;
      if (char === " " || char === "\t") this.at += 1;
      else if (char === "\\" && this.text[this.at + 1] === "\n") this.at += 2;
      else if (char === "#" && !this.done) this.skipComment();
      else return;
    }
  }

  private skipComment(): void {
    const end = this.text.indexOf("\n", this.at);
    this.at = end === -1 ? this.text.length : end;
  }
}

/** How a word is read: where it ends, and what is special in it. */
export interface WordStyle {
  /** True for the character that ends the word, unless quoted. */
  readonly ends: (char: string) => boolean;
  /** Inside double quotes or a here-document: no single quotes, no process substitution, no patterns. */
  readonly inQuotes?: boolean;
  /** Double quotes around this text are left out, and `\\"` is one: not so in a here-document. */
  readonly doubleQuotes?: boolean;
  /** In `[[ … =~ … ]]`: parentheses are the expression's own. */
  readonly expression?: boolean;
}

/** Ends a word unless quoted. */
export function isMeta(char: string): boolean {
  return (
    char === "" ||
    char === " " ||
    char === "\t" ||
    char === "\n" ||
    char === ";" ||
    char === "&" ||
    char === "|" ||
    char === "<" ||
    char === ">" ||
    char === "(" ||
    char === ")"
  );
}
