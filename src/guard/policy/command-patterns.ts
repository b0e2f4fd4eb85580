import { mayRunWords, type ShellCommand } from "../analysis/index.js";

/** A command as a rule names it: a program, flags in any order and spelling, and words in this order. */
export interface CommandPattern {
  readonly name: string;
  /** Each is a set of spellings of one flag. */
  readonly flags: readonly (readonly string[])[];
  readonly words: readonly string[];
}

/** Spellings of one flag. A program that is not here has none but what the rule says. */
const SPELLINGS: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  [
    "rm",
    [
      ["-r", "-R", "--recursive"],
      ["-f", "--force"],
      ["-i", "--interactive"],
      ["-v", "--verbose"],
    ],
  ],
  [
    "cp",
    [
      ["-r", "-R", "--recursive", "-a", "--archive"],
      ["-f", "--force"],
    ],
  ],
  ["mv", [["-f", "--force"]]],
  [
    "ln",
    [
      ["-f", "--force"],
      ["-s", "--symbolic"],
    ],
  ],
  ["chmod", [["-R", "--recursive"]]],
  ["chown", [["-R", "--recursive"]]],
  ["chgrp", [["-R", "--recursive"]]],
  ["grep", [["-r", "-R", "--recursive", "--dereference-recursive"]]],
  [
    "curl",
    [
      ["-o", "--output"],
      ["-O", "--remote-name"],
      ["-d", "--data"],
      ["-T", "--upload-file"],
      ["-F", "--form"],
    ],
  ],
  ["wget", [["-O", "--output-document"]]],
  ["git", [["-f", "--force"]]],
]);

/** Their options are words with one dash: `find -delete`. */
const WORD_OPTIONS = new Set(["find", "java", "openssl", "ffmpeg", "go", "convert", "gcc", "clang"]);

/** Names that mean one program whatever its version: `python`, `python3`, `python3.11`. */
const VERSIONED = /^(python|pip|pypy|node|perl|ruby|php|lua)(?:js)?\d*(?:\.\d+)*$/;

/** Where the programs are the host's, not the agent's own. */
const SYSTEM_PROGRAM = /^(?:\/usr(?:\/local)?)?\/s?bin\/[^/]+$/;

/** Ways to a command that are no program's name. */
const NO_PROGRAM = /^(?:function |alias |\$\(|<\(|>\(|pipe$|here-|arithmetic$|coproc$|<&)/;

/**
 * Builtins that only change the shell they run in, and whose texts (`trap`, `alias`) are looked into anyway: allowed
 * wherever a list of commands is.
 */
export const HARMLESS_BUILTINS: ReadonlySet<string> = new Set([
  ":",
  "[",
  "[[",
  "alias",
  "break",
  "cd",
  "command",
  "continue",
  "declare",
  "echo",
  "exit",
  "export",
  "false",
  "getopts",
  "let",
  "local",
  "printf",
  "pwd",
  "read",
  "readonly",
  "return",
  "set",
  "shift",
  "test",
  "trap",
  "true",
  "type",
  "typeset",
  "umask",
  "unalias",
  "unset",
  "wait",
]);

/** Reads `curl`, `rm -rf`, `git push --force`, `./build.sh`. Throws for anything else. */
export function parseCommandPattern(text: string): CommandPattern {
  const [name = "", ...rest] = text.trim().split(/\s+/);
  if (/[;&|<>$`"'\\(){}*?[\]~\0]/.test(text) || name.startsWith("-") || text.length > 256) {
    throw new Error(
      `expected a command such as "curl" or "rm -rf", not shell syntax: ${JSON.stringify(text.slice(0, 60))}`,
    );
  }
  return {
    name: name.toLowerCase(),
    flags: rest.filter((word) => word.startsWith("-")).flatMap((word) => readFlags(name, word)),
    words: rest.filter((word) => !word.startsWith("-")),
  };
}

const parsed = new Map<string, CommandPattern>();

/** The same, remembered: a policy has few patterns and is asked often. */
export function commandPattern(text: string): CommandPattern {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const pattern = parseCommandPattern(text);
  if (parsed.size < 1000) parsed.set(text, pattern);
  return pattern;
}

function readFlags(name: string, word: string): (readonly string[])[] {
  const isCluster = /^-[A-Za-z]{2,4}$/.test(word) && !WORD_OPTIONS.has(name);
  const single = isCluster ? [...word.slice(1)].map((letter) => `-${letter}`) : [word];
  const known = SPELLINGS.get(name) ?? [];
  return single.map((flag) => known.find((spellings) => spellings.includes(flag)) ?? [flag]);
}

/** True for a name that is found along PATH, or a path to a program of the host. */
function isSystemProgram(path: string | undefined): boolean {
  return path === undefined || !path.includes("/") || SYSTEM_PROGRAM.test(path);
}

/**
 * Does a command fall under a pattern? "maybe": an argument that is only known when it runs decides. For allowing, a
 * program of the agent's own is not the host's of that name, and the pattern's words must come first.
 */
export function matchCommand(
  pattern: CommandPattern,
  command: ShellCommand,
  use: "allow" | "deny",
): "no" | "maybe" | "yes" {
  if (!isNamed(pattern, command, use)) return "no";
  const end = command.args.indexOf("--");
  const options = end === -1 ? command.args : command.args.slice(0, end);
  const given = options.filter((arg): arg is string => arg?.startsWith("-") === true);
  const missing = pattern.flags.some(
    (spellings) => !given.some((arg) => isFlag(arg, spellings, pattern.name)),
  );
  const operands = command.args.filter((arg) => arg === undefined || !arg.startsWith("-"));
  const words = use === "allow" ? startWith(operands, pattern.words) : contain(operands, pattern.words);
  if (words === "no" || (missing && !options.includes(undefined))) return "no";
  return missing ? "maybe" : words;
}

/** True when the pattern is a name alone, and the command is reached through that program: `xargs` of `xargs ls`. */
export function isReachedThrough({ name, flags, words }: CommandPattern, { via }: ShellCommand): boolean {
  if (flags.length + words.length > 0) return false;
  return via.some((each) => !NO_PROGRAM.test(each) && isSameProgram(name, each.split(" ")[0]!.toLowerCase()));
}

/** True when a program that no table knows has the command among its words, or in a text that is one of them. */
export function runsAsWord(pattern: CommandPattern, command: ShellCommand): boolean {
  const { name, args, assignments, redirects } = command;
  if (name === undefined || HARMLESS_BUILTINS.has(name) || !mayRunWords(name.toLowerCase())) return false;
  const given = [
    ...assignments.map(({ value }) => value),
    ...args,
    ...redirects.map(({ operator, target }) => (operator === "<<<" ? target : undefined)),
  ];
  const words = given.flatMap((text) =>
    text === undefined || /^\w+:\/\//.test(text) ? [] : text.split(/[\s;&|()[\]{}'"`=,!%\\]+/),
  );
  return words.some((word, index) => {
    const base = word.slice(word.lastIndexOf("/") + 1);
    const as = { ...command, name: base, path: base, args: words.slice(index + 1), patterns: [] };
    return base !== "" && matchCommand(pattern, as, "deny") === "yes";
  });
}

function isNamed(pattern: CommandPattern, { name, path }: ShellCommand, use: "allow" | "deny"): boolean {
  if (pattern.name.includes("/")) {
    if (use === "allow") return path?.toLowerCase() === pattern.name;
    return name !== undefined && pattern.name.endsWith(`/${name.toLowerCase()}`);
  }
  if (name === undefined || !isSameProgram(pattern.name, name.toLowerCase())) return false;
  return use === "deny" || isSystemProgram(path);
}

function isSameProgram(one: string, other: string): boolean {
  const program = (name: string) => VERSIONED.exec(name)?.[1] ?? name;
  return program(one) === program(other);
}

function isFlag(arg: string, spellings: readonly string[], name: string): boolean {
  return spellings.some((flag) => {
    if (arg === flag || arg.startsWith(`${flag}=`)) return true;
    // Long options may be cut short: --recurs.
    if (flag.startsWith("--")) return arg.length > 2 && arg.startsWith("--") && flag.startsWith(arg);
    const clusters = /^-[A-Za-z]$/.test(flag) && /^-[A-Za-z]/.test(arg) && !WORD_OPTIONS.has(name);
    return clusters && /^[A-Za-z]*/.exec(arg.slice(1))![0].includes(flag.charAt(1));
  });
}

/** For allowing: the operands begin with these words. */
function startWith(operands: readonly (string | undefined)[], words: readonly string[]): "no" | "yes" {
  return words.every((word, index) => operands[index] === word) ? "yes" : "no";
}

/** For denying: the words stand somewhere among the operands, in this order. */
function contain(
  operands: readonly (string | undefined)[],
  words: readonly string[],
): "no" | "maybe" | "yes" {
  let found = 0;
  for (const operand of operands) if (operand !== undefined && operand === words[found]) found += 1;
  if (found >= words.length) return "yes";
  return operands.includes(undefined) ? "maybe" : "no";
}
