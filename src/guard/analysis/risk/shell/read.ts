import { MAX_ANALYZED_SHELL_CHARACTERS } from "../../../../kit/code-limits.js";
import type { WorkBudget } from "../../../../kit/parser/index.js";
import { findCommandsWithin } from "../../find-commands.js";
import type { Match, Report } from "../../rules/findings.js";
import { rankOf } from "../../rules/levels.js";
import { type Access, assessPath, isSecretPath, isWholeTree } from "../../rules/path-rules.js";
import { assessText, isLoaderVariable, LOADER_VARIABLE } from "../../rules/text-rules.js";
import { findAwkStarts } from "../../scanned/awk.js";
import { UNKNOWN as HOLE } from "../../shell/fields.js";
import { HARMLESS_COMMANDS } from "../../shell/quiet-programs.js";
import type { ShellCommand } from "../../shell/shell-program.js";
import { type Flow, ShellFlow } from "./flow.js";
import { PATH_OPTIONS, PATH_WORDS } from "./path-words.js";
import { COMMAND_RULES, type CommandRule, DOWNLOADERS } from "./rules.js";

const MAX_SOURCES = 32;
const RULES = new Map<string, CommandRule[]>();
for (const rule of COMMAND_RULES) {
  for (const command of rule.commands) RULES.set(command, [...(RULES.get(command) ?? []), rule]);
}

/** Reports everything that a shell text would run; resolves to whether all of it could be read. */
export async function readShell(text: string, report: Report, work: WorkBudget): Promise<boolean> {
  const offsetOf = createOffsets(text);
  const plain = withoutLiterals(text.slice(0, MAX_PATTERN_TEXT));
  const secret = plain.search(SECRET_BELOW_VARIABLE);
  if (secret !== -1) report.add(SECRET_FILE, secret);
  const started = plain.search(START_BELOW_VARIABLE);
  if (started !== -1) report.add(START_FILE, started);
  const captured = plain.search(CAPTURING_FUNCTION);
  if (captured !== -1) report.add(CAPTURE, captured);
  const dropped = plain.search(/\b(?:DROP|TRUNCATE)\s+TABLE\s+(?:IF\s+EXISTS\s+)?["']?\$/i);
  if (dropped !== -1)
    report.add({ rule: "service-destruction", level: "high", why: "Drops every table of a list." }, dropped);
  const socket = plain.search(SOCKET_BEHIND_VARIABLE);
  if (socket !== -1) report.add(SHELL_SOCKET, socket);
  work.spend(PATTERN_WORK * Math.min(text.length, MAX_PATTERN_TEXT));
  const { commands, problems, bombs, programs = [] } = await findCommandsWithin(work, KNOWN + text);
  await work.pause();
  for (const { kind, line, column } of bombs)
    report.add(kind === "fork" ? FORK_BOMB : SPAWNING, offsetOf(line, column));
  for (const { language, code, line, column } of programs)
    report.nest({ language, text: code.replaceAll(HOLE, "SKERRY_UNKNOWN"), offset: offsetOf(line, column) });
  const [problem] = problems;
  if (problem !== undefined) {
    // A long text may have been left before its end.
    const level = text.length > LONG ? "high" : "medium";
    report.add({ ...UNREADABLE, level }, offsetOf(problem.line, problem.column));
  }
  const downloaded = new Set<string>();
  const lines = text.split("\n");
  const flow = new ShellFlow(lines, commands);
  let directory = ".";
  for (const [index, command] of commands.entries()) {
    const offset = offsetOf(command.line, command.column);
    const add = (match: Match) => report.add(match, offset);
    work.spend(workFor(command));
    const given = flow.of(command, index);
    readCommand(command, given, add);
    readPaths(command, given, directory, add);
    directory = directoryAfter(command, directory);
    readInlineCode(command, offset, report, work);
    readDownload(command, downloaded, add);
  }
  return problem === undefined;
}

/** One unit per letter for each handful of expressions that it is held against. */
const PATTERN_WORK = 4;
const COMMAND_WORK = 500;
const WORD_WORK = 100;

function workFor({ args, reads }: ShellCommand): number {
  const letters = args.reduce((sum, word) => sum + Math.min(word?.length ?? 0, MAX_PATTERN_TEXT), 0);
  return COMMAND_WORK + WORD_WORK * (args.length + reads.length) + PATTERN_WORK * letters;
}

const FORK_BOMB: Match = { rule: "fork-bomb", level: "critical", why: "Starts itself twice, for ever." };
const SPAWNING: Match = {
  rule: "endless-spawning",
  level: "high",
  why: "Starts processes in a loop without an end.",
};
const SECRET_FILE: Match = {
  rule: "secret-file",
  level: "high",
  why: "Holds keys or credentials of the user.",
};
/** A file of a directory that only the run knows. */
const SECRET_BELOW_VARIABLE =
  /\$\{?\w{1,40}\}?"?\/(?:\.ssh\/|\.aws\/credentials|\.gnupg\/|\.kube\/config|\.netrc\b|\.git-credentials)/;

const START_BELOW_VARIABLE =
  /(?:>|\btee\s)[^\n|;&]{0,8}\$[^\n|;&]{0,200}?(?:site[^\n]{0,80}\.pth|(?:site|user)customize\.py|\/\.git\/hooks\/\w|\/authorized_keys|\/\.(?:bashrc|profile|zshrc|bash_profile))\b/;
const SOCKET_BEHIND_VARIABLE = /[<>]\s?&?\s?"?\/dev\/(?:tcp|udp)\/(?!localhost|127\.)[^\s"]{0,100}\$/;
const CAPTURING_FUNCTION =
  /\b(?:sudo|su|ssh|passwd|doas)\s?\(\)\s{0,4}\{[^}]{0,300}?(?:\bread\s|\bcurl\b|\bnc\b|>>|\btee\b|\bwget\b)/;
const CAPTURE: Match = {
  rule: "input-capture",
  level: "high",
  why: "Puts something else in the place of a command that asks for a password.",
};
const START_FILE: Match = {
  rule: "persistence",
  level: "high",
  why: "Starts a program again later, without being asked.",
};

/** The text with blanks for comments and for what is in single quotes. */
function withoutLiterals(text: string): string {
  return text.replace(/"(?:[^"\\]|\\[\s\S])*"|'[^']*'|(?<![^\s;&|(])#[^\n]*/g, (found) =>
    found.startsWith('"') ? found : " ".repeat(found.length),
  );
}

/** Variables whose value is known, in a line of their own. */
const KNOWN = "HOME='~'\n";
/** Where the script is after a command; unknown places count as the workspace. */
function directoryAfter({ name, args }: ShellCommand, before: string): string {
  if (name !== "cd" && name !== "pushd") return before;
  const operands = args.filter((arg) => arg === undefined || !arg.startsWith("-"));
  if (args.length === 0) return "~";
  return operands[0] ?? ".";
}

const MAX_PATTERN_TEXT = 64 * 1024;
/** Longer texts are not looked into. */
const LONG = MAX_ANALYZED_SHELL_CHARACTERS - KNOWN.length;
const UNREADABLE: Match = {
  rule: "unparsable",
  level: "medium",
  why: "Is not understood as this language, so something may be overlooked.",
};
const UNKNOWN_COMMAND: Match = {
  rule: "unknown-command",
  level: "medium",
  why: "Runs a command whose name is made while the script runs.",
};
const OTHER_PROGRAM: Match = { rule: "program", level: "low", why: "Runs a program that is not known here." };

function createOffsets(text: string): (line: number, column: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  // Lines are counted with the one that stands in front.
  return (line, column) => Math.min((starts[line - 2] ?? 0) + column - 1, text.length);
}

function readCommand(command: ShellCommand, flow: Flow, add: (match: Match) => void): void {
  const { name } = command;
  if (name === undefined) {
    add(UNKNOWN_COMMAND);
    // `eval "$(curl …)"`: what is run is what the source prints.
    for (const rule of RULES.get("eval") ?? [])
      if (rule.after?.some((one) => flow.sources.includes(one))) add(rule);
    return;
  }
  const words = command.args.filter((word) => word !== undefined);
  const module = /^python[\d.]*$/.test(name) && words[0] === "-m" ? words[1] : undefined;
  if (module !== undefined && module !== name)
    readCommand({ ...command, name: module, args: command.args.slice(2) }, flow, add);
  for (const match of [name, ...words].flatMap(assessText)) add(match);
  for (const { name: variable, value } of command.assignments) {
    if (isLoaderVariable(variable)) add(LOADER_VARIABLE);
    if (PACKAGE_SOURCE.test(variable) && !OFFICIAL.test(value ?? "")) add(OTHER_SOURCE);
  }
  if (
    DOWNLOADERS.includes(name) &&
    flow.words.some((word) => isWholeTree(word) || isSecretPath(word) || /^\/(?:etc|var)\b/.test(word))
  )
    add({ rule: "exfiltration", level: "high", why: "Sends files from all over the machine." });
  if (name === "kill" && flow.words.some((word) => word.startsWith("/proc"))) add(SIGNALS_ALL);
  if (name === "yes" && command.redirects.some(({ target }) => target !== "/dev/null")) add(ENDLESS_FILE);
  for (const wrapper of command.via) if (/^(?:sudo|su|doas|pkexec)\b/.test(wrapper)) add(ROOT);
  const rules = RULES.get(name) ?? (name.startsWith("mkfs") ? RULES.get("mkfs") : undefined) ?? [];
  const matching = rules.filter((rule) => holds(rule, command, words, flow));
  // Of several rules with one name, the worst says it all.
  for (const rule of matching) {
    if (!matching.some((other) => other.rule === rule.rule && rankOf(other.level) > rankOf(rule.level)))
      add(rule);
  }
  if (command.path !== undefined && HIDDEN_PROGRAM.test(command.path)) add(HIDDEN);
  else if (command.path !== undefined && TEMPORARY_PROGRAM.test(command.path)) add(TEMPORARY);
  if (matching.length === 0 && !HARMLESS_COMMANDS.has(name)) add(OTHER_PROGRAM);
}

const PACKAGE_SOURCE =
  /^(?:GOPROXY|PIP_(?:EXTRA_)?INDEX_URL|UV_(?:EXTRA_)?INDEX_URL|npm_config_registry|NPM_CONFIG_REGISTRY)$/;
const OFFICIAL = /proxy\.golang\.org|pypi\.org|registry\.npmjs\.org|^(?:direct|off)$/;
const OTHER_SOURCE: Match = {
  rule: "package-source",
  level: "high",
  why: "Takes packages from an unusual place.",
};
const SIGNALS_ALL: Match = { rule: "kill", level: "high", why: "Signals processes that are not its own." };
const ENDLESS_FILE: Match = { rule: "resources", level: "high", why: "Writes until nothing is left." };
const ROOT: Match = { rule: "privilege", level: "high", why: "Asks to be root." };
const HIDDEN_PROGRAM = /^\/(?:tmp|var\/tmp|dev\/shm)\/(?:.*\/)?\.[^/]+$/;
const TEMPORARY_PROGRAM = /^\/(?:tmp|var\/tmp|dev\/shm)\//;
const TEMPORARY: Match = {
  rule: "temporary-program",
  level: "low",
  why: "Runs a program out of the temporary directory.",
};
const HIDDEN: Match = {
  rule: "hidden-program",
  level: "high",
  why: "Runs a program that is hidden among temporary files.",
};

function holds(
  rule: CommandRule,
  command: ShellCommand,
  words: readonly string[],
  { sources }: Flow,
): boolean {
  if (rule.bare === true && (command.args.length > 0 || command.reads.length > 0)) return false;
  if (rule.word !== undefined && !words.some((word) => rule.word!.test(word))) return false;
  if (rule.and !== undefined && !words.some((word) => rule.and!.test(word))) return false;
  if (rule.not !== undefined && words.some((word) => rule.not!.test(word))) return false;
  return rule.after === undefined || rule.after.some((name) => sources.includes(name));
}

function readPaths(command: ShellCommand, flow: Flow, directory: string, add: (match: Match) => void): void {
  const { name, args, redirects } = command;
  for (const { operator, target } of redirects) {
    if (target === undefined) {
      if (/^(?:>|>>|>\|)$/.test(operator)) for (const word of flow.words) touch(word, "write", add);
      continue;
    }
    if (/^\/dev\/(?:tcp|udp)\/(?:localhost\/|127\.)/.test(target))
      add({ ...SHELL_SOCKET, rule: "socket", level: "medium" });
    else if (/^\/dev\/(?:tcp|udp)\//.test(target)) add(SHELL_SOCKET);
    else if (operator.includes(">") && !operator.endsWith("&")) touch(target, "write", add);
    else if (operator.startsWith("<") && !operator.startsWith("<<")) touch(target, "read", add);
  }
  if (name === undefined) return;
  const operands = operandsOf(args).flatMap((word) => (word === undefined ? [word, ...flow.words] : [word]));
  if (command.via.some((step) => step.startsWith("xargs"))) operands.push(...handedBy(command));
  for (const words of PATH_WORDS) {
    if (!words.commands.includes(name)) continue;
    if (words.when !== undefined && !args.some((arg) => arg !== undefined && words.when!.test(arg))) continue;
    const paths = name === "find" ? beforeTests(args) : operands.slice(words.skip ?? 0);
    if (words.access === "remove" && name !== "mv" && paths.includes(undefined)) add(unknownRemoval(args));
    paths.forEach((path, index) => {
      const last = words.lastWritten === true && paths.length > 1 && index === paths.length - 1;
      if (path !== undefined) touch(placed(path, directory), last ? "write" : words.access, add, name);
    });
  }
  if (name === "dd") {
    for (const arg of args) {
      if (arg?.startsWith("if=")) touch(arg.slice(3), "read", add, name);
      if (arg?.startsWith("of=")) touch(arg.slice(3), "write", add, name);
    }
  }
  readOptions(name, args, add);
}

const unknownRemoval = (args: readonly (string | undefined)[]): Match => ({
  rule: "file-delete",
  level: args.some((arg) => arg !== undefined && /^-[a-zA-Z]*[rR]|^--recursive$|^-delete$/.test(arg))
    ? "medium"
    : "low",
  why: "Deletes what only the run knows.",
});

const SHELL_SOCKET: Match = {
  rule: "reverse-shell",
  level: "critical",
  why: "Connects the shell itself to the network.",
};

function touch(path: string, access: Access, add: (match: Match) => void, command = ""): void {
  // A remote place, an address or a program's text.
  if (/^[\w+.-]+:\/\//.test(path) && !path.startsWith("file:")) return;
  const match = assessPath(path, access);
  if (match === undefined) return;
  // Listing and reading what is the workspace's own is what every script does.
  if (access === "read" && match.rule === "file") return;
  if (/^(?:ls|find|du|stat|file)$/.test(command) && match.level === "low") return;
  add(match);
}

function operandsOf(args: readonly (string | undefined)[]): (string | undefined)[] {
  const end = args.indexOf("--");
  const before = end === -1 ? args : args.slice(0, end);
  const after = end === -1 ? [] : args.slice(end + 1);
  return [...before.filter((arg) => arg === undefined || !/^[-+]./.test(arg)), ...after];
}

/** What xargs hands over, where it is constant. */
function handedBy({ reads, redirects }: ShellCommand): (string | undefined)[] {
  const here = redirects.filter(({ operator }) => operator === "<<<").map(({ target }) => target);
  const given = reads.slice(0, MAX_SOURCES).flatMap(({ name, args }) => {
    if (name === "echo" || name === "printf") return args;
    return name === "find" || name === "ls" ? beforeTests(args) : [];
  });
  return [...here, ...given];
}

/** A path as seen from where the script has gone to, when that makes it something else. */
function placed(path: string, directory: string): string {
  if (path.startsWith("/") || path.startsWith("~")) return path;
  const everything = /^(?:\.\/)?\*?$|^\.\.?\/?$/.test(path);
  return everything || isWholeTree(directory) ? `${directory}/${path}` : path;
}

/** find's places stand before its tests. */
function beforeTests(args: readonly (string | undefined)[]): (string | undefined)[] {
  const first = args.findIndex((arg) => arg !== undefined && /^[-(!]/.test(arg));
  return args.slice(0, first === -1 ? args.length : first);
}

function readOptions(name: string, args: readonly (string | undefined)[], add: (match: Match) => void): void {
  const options = PATH_OPTIONS.get(name);
  args.forEach((arg, index) => {
    if (arg === undefined) return;
    const access = options?.[arg];
    const value = args[index + 1];
    if (access !== undefined && value !== undefined) touch(value, access, add, name);
    const [, option, attached] = /^(--[\w-]+)=(.*)$/.exec(arg) ?? [];
    if (option !== undefined && options?.[option] !== undefined) touch(attached!, options[option], add, name);
    if (DOWNLOADERS.includes(name)) readUpload(arg, add);
  });
}

/** -d @file and -F name=@file send a file. */
function readUpload(arg: string, add: (match: Match) => void): void {
  const file = /(?:^|=|^-[dFT])@(.+)$/.exec(arg)?.[1];
  if (file === undefined) return;
  touch(file, "read", add);
  const sensitive =
    isSecretPath(file) || rankOf(assessPath(file, "read")?.level ?? "low") >= rankOf("medium");
  if (sensitive) add({ rule: "exfiltration", level: "high", why: "Hands secrets to the network." });
}

/** The options that are followed by a program in a language without a reader of its own. */
const CODE_FLAGS: readonly (readonly [RegExp, RegExp])[] = [
  [/^perl[\d.]*$/, /^-[a-zA-Z]*[eE]$/],
  [/^[jm]?ruby[\d.]*$/, /^-[a-z]*e$/],
  [/^php[\d.]*$/, /^(?:-r|--run)$/],
  [/^lua(?:jit)?[\d.]*$/, /^-e$/],
];

function readInlineCode(
  { name, args }: ShellCommand,
  offset: number,
  report: Report,
  work: WorkBudget,
): void {
  if (name === undefined) return;
  if (/^(?:m|g|n)?awk$/.test(name)) {
    const program = args.find((arg) => arg !== undefined && !arg.startsWith("-"));
    if (program !== undefined && /\/inet\/(?:tcp|udp)/.test(program)) report.add(SHELL_SOCKET, offset);
    if (program !== undefined && program.length <= MAX_AWK && findAwkStarts(program, work).found.length > 0)
      report.add(FOREIGN_SHELL, offset);
    return;
  }
  const flag = CODE_FLAGS.find(([program]) => program.test(name))?.[1];
  const at = flag === undefined ? -1 : args.findIndex((arg) => arg !== undefined && flag.test(arg));
  const code = at === -1 ? undefined : args[at + 1];
  if (code === undefined) return;
  if (/\bfork\b.{0,40}\b(?:while|until)\b|\b(?:while|loop|until|for)\b.{0,40}\bfork\b/.test(code)) {
    report.add(FORK_BOMB, offset);
  } else if (/\b(?:IO::)?Socket\b|TCPSocket|fsockopen|socket\s*\(|require\s*["']socket/i.test(code)) {
    report.add(
      { ...SHELL_SOCKET, level: /\bexec|\bsystem|\/bin\/|popen/.test(code) ? "critical" : "medium" },
      offset,
    );
  } else if (/\beval\b/.test(code) && /https?:\/\//.test(code)) {
    report.add({ ...DOWNLOADED, why: "Runs code that came over the network." }, offset);
  } else if (/\b(?:exec|system|popen|passthru|shell_exec|eval|unlink|rmtree)\b|`/.test(code)) {
    report.add(FOREIGN_SHELL, offset);
  }
  if (/\b(?:rm_rf?|rmtree|remove_\w+|unlink|rmdir|delete)\b/.test(code))
    for (const [, path] of code.matchAll(/["']([~/][^"'\n]{0,200})["']/g))
      touch(path!, "remove", (match) => report.add(match, offset));
}

const MAX_AWK = 4096;

const FOREIGN_SHELL: Match = {
  rule: "process",
  level: "medium",
  why: "Starts commands from a language that is not looked into.",
};

/** A file that was fetched and is then run. */
function readDownload(command: ShellCommand, downloaded: Set<string>, add: (match: Match) => void): void {
  const { name, args } = command;
  if (name === undefined) return;
  if (downloaded.has(name)) add(DOWNLOADED);
  if (/^(?:ba|z|da|k)?sh$|^(?:source|\.)$|^(?:python|perl|ruby|node|php)[\d.]*$/.test(name)) {
    const script = args.find((arg) => arg !== undefined && !arg.startsWith("-"));
    if (script !== undefined && downloaded.has(baseName(script))) add(DOWNLOADED);
  }
  if (name !== "curl" && name !== "wget" && name !== "aria2c" && name !== "scp") return;
  args.forEach((arg, index) => {
    const value = args[index + 1];
    if (
      arg !== undefined &&
      /^(?:-[a-zA-Z]*[oO]|--output|--output-document)$/.test(arg) &&
      value !== undefined
    ) {
      downloaded.add(baseName(value));
    }
    if (arg !== undefined && /^[a-z]+:\/\/|^[\w.-]+\.\w+\//.test(arg))
      downloaded.add(baseName(arg.replace(/[?#].*$/, "")));
  });
  for (const { target } of command.redirects) if (target !== undefined) downloaded.add(baseName(target));
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

const DOWNLOADED: Match = {
  rule: "remote-code",
  level: "high",
  why: "Runs a program that was fetched just before.",
};
