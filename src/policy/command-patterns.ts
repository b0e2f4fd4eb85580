import type { ShellCommand } from "../syntax/index.js";

/** A command as a rule names it: a program, and perhaps arguments that must all be there. */
export interface CommandPattern {
  readonly name: string;
  /** Single letters of short options: `rf` of `-rf`. */
  readonly letters: readonly string[];
  /** Long options and words, as they are. */
  readonly words: readonly string[];
}

/** Options that say the same: `rm -r` is `rm --recursive`. */
const LONG_FORMS: Readonly<Record<string, readonly string[]>> = {
  r: ["--recursive", "-R"],
  R: ["--recursive", "-r"],
  f: ["--force"],
  v: ["--verbose"],
  i: ["--interactive"],
};

/** Builtins that run nothing, read no file and send nothing: allowed wherever a list of commands is. */
export const HARMLESS_BUILTINS: ReadonlySet<string> = new Set([
  ":",
  "[",
  "[[",
  "break",
  "cd",
  "continue",
  "echo",
  "exit",
  "export",
  "false",
  "local",
  "printf",
  "pwd",
  "read",
  "readonly",
  "return",
  "set",
  "shift",
  "test",
  "true",
  "umask",
  "unset",
  "wait",
]);

/** Reads `curl`, `rm -rf`, `git push --force`. Throws for what is none. */
export function parseCommandPattern(text: string): CommandPattern {
  const words = text.trim().split(/\s+/);
  const name = words[0]!;
  if (/[;&|<>$`"'\\(){}*?[\]~]/.test(text)) {
    throw new Error(
      `expected a command such as "curl" or "rm -rf", not shell syntax: ${JSON.stringify(text)}`,
    );
  }
  const rest = words.slice(1);
  const isShort = (word: string) => /^-[A-Za-z0-9]+$/.test(word);
  return {
    name: name.split("/").at(-1)!,
    letters: rest.filter(isShort).flatMap((word) => [...word.slice(1)]),
    words: rest.filter((word) => !isShort(word)),
  };
}

/**
 * Does a command fall under a pattern? For a rule that denies, an argument that is only known when it runs counts as
 * whatever the pattern needs; for one that allows, it does not.
 */
export function matchesCommand(pattern: CommandPattern, command: ShellCommand, denies: boolean): boolean {
  if (command.name === undefined) return false;
  if (command.name.toLowerCase() !== pattern.name.toLowerCase()) return false;
  const unknown = denies && command.args.includes(undefined);
  const given = command.args.filter((each) => each !== undefined);
  return (
    pattern.letters.every((letter) => unknown || hasLetter(given, letter)) &&
    pattern.words.every(
      (word) => unknown || given.some((each) => each === word || each.startsWith(`${word}=`)),
    )
  );
}

function hasLetter(args: readonly string[], letter: string): boolean {
  const long = LONG_FORMS[letter] ?? [];
  return args.some(
    (arg) =>
      long.includes(arg) ||
      (/^-[A-Za-z0-9]+$/.test(arg) &&
        (arg.includes(letter, 1) || long.some((form) => /^-\w$/.test(form) && arg.includes(form[1]!, 1)))),
  );
}
