import type { OtherCall, ProgramFacts } from "../program/facts.js";
import {
  HARMLESS_MODULES as HARMLESS_IN_JAVASCRIPT,
  JAVASCRIPT_MODULES,
} from "../program/javascript/modules.js";
import { moduleNameOf } from "../program/javascript/names.js";
import type { ArgumentRef, ModuleRule } from "../program/known-functions.js";
import {
  argument,
  isWriting,
  type KnownCall,
  type ProcessStart,
  startsOf,
} from "../program/process-start.js";
import { HARMLESS_MODULES as HARMLESS_IN_PYTHON, PYTHON_MODULES } from "../program/python/modules.js";
import { HUGE_ALLOCATION } from "../program/reader.js";
import { allTexts, HOLE, MARKS, marksOf, UNKNOWN, unmark, type Value } from "../program/value.js";
import type { Match, Report } from "../rules/findings.js";
import { rankOf } from "../rules/levels.js";
import { type Access, assessPath } from "../rules/path-rules.js";
import { assessText, isLoaderVariable, LOADER_VARIABLE } from "../rules/text-rules.js";

/** More paths in one list are not looked at. */
const MAX_PATHS = 16;
const SECRETS = MARKS.secret | MARKS.environment | MARKS.credential | MARKS.wholeTree;

/** Reports what the facts of a program say about it. */
export function judgeProgram(facts: ProgramFacts, report: Report): void {
  const importModule = facts.language === "python" ? importPython : importJavaScript;
  for (const { module, offset } of facts.imports) importModule(module, offset, report);
  for (const { match, offset } of facts.signs) report.add(match, offset);
  for (const { known, offset } of facts.mentions) if (known.level !== "safe") report.add(known, offset);
  for (const call of facts.calls) judgeCall(call, report);
  for (const call of facts.possibleCalls) judgeCall(call, report);
  for (const start of facts.starts) nestStart(start, facts.language, report);
  for (const { text, offset } of facts.commandTexts) nestShell(withHoles(text), offset, report);
  for (const { value, offset } of facts.inputs) judgeSource(value, "command", offset, report);
  for (const call of facts.otherCalls) judgeOtherCall(call, report);
  judgeDropped(facts, report);
  if (facts.incomplete === "too-complex") report.add(TOO_COMPLEX, 0);
}

const TOO_COMPLEX: Match = {
  rule: "too-complex",
  level: "high",
  why: "Too deep or too long to be followed to the end.",
};

/** Files that the program writes, what it writes there, and whether it then runs them. */
function judgeDropped(facts: ProgramFacts, report: Report): void {
  const { calls, otherCalls, starts, imports, installScript } = facts;
  const written: { path: string; offset: number; fetched: boolean }[] = [];
  let fetched = otherCalls.some(
    ({ method, args, from }) => WRITING.test(method ?? "") && ((marksOf(args) | from) & MARKS.network) !== 0,
  );
  for (const call of calls) {
    const into = (call.known.paths ?? []).filter(([, access]) => access === "write" || isWriting(call));
    const marks = marksOf(call.args) | marksOf([...call.keywords.values()]);
    fetched ||= WRITING.test(call.name) && ((marks | call.receiver.marks) & MARKS.network) !== 0;
    for (const path of into.flatMap(([ref]) => argument(call, ref).texts))
      written.push({
        path,
        offset: call.offset,
        fetched: ((marks & MARKS.network) !== 0 || call.known.sends) === true,
      });
  }
  const own = calls.filter(
    ({ known, args }) =>
      known.starts !== undefined &&
      args.flatMap((arg) => allTexts(arg)).some((word) => /^\.\/program\.(?:js|py)$/.test(word)),
  );
  if (new Set(own.map(({ offset }) => offset)).size > 1)
    report.add({ ...SPAWNING, level: "high" }, own[0]!.offset);
  for (const { path, offset, fetched: ownFetched } of written) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (
      /^package\.json$|devcontainer/.test(path.slice(-64).replace(/^.*\/(?=package\.json$)/, "")) &&
      installScript
    )
      report.add(INSTALL_SCRIPT, offset);
    if (!(ownFetched || fetched) || name.length < 2 || name.includes(HOLE)) continue;
    const isNamed = (word: string | undefined) => word?.includes(name) === true;
    const run = starts.find((start) =>
      start.kind === "argv" ? start.argv.some(isNamed) : start.kind === "text" && isNamed(start.text),
    );
    const loaded = imports.find(({ module }) => module.endsWith(name) || `${module}.py` === name);
    const taken = [...calls, ...otherCalls].find(
      (call) =>
        LOADS.test("name" in call ? call.name : (call.names[0] ?? "")) &&
        call.args.some(({ texts }) => texts.some(isNamed)),
    );
    const place = run?.at ?? loaded?.offset ?? taken?.offset;
    if (place !== undefined) report.add(FETCHED_PROGRAM, place);
  }
}

const LOADS = /^(?:sys\.path\.|runpy\.|importlib\.|imp\.|zipimport\.|ctypes\.|vm\.|process\.dlopen)/;
const WRITING = /(?:^|\.)(?:write\w*|end|pipe\w*|copyfileobj|append\w*|download\w*)$/;
const FETCHED_PROGRAM: Match = {
  rule: "remote-code",
  level: "high",
  why: "Runs a file that came over the network.",
};
const INSTALL_SCRIPT: Match = {
  rule: "package-source",
  level: "high",
  why: "Runs a command whenever the package is installed or opened.",
};

const byModule = (rules: readonly ModuleRule[]) =>
  new Map(rules.flatMap((rule) => rule.modules.map((module) => [module, rule] as const)));
const IN_PYTHON = byModule(PYTHON_MODULES);
const IN_JAVASCRIPT = byModule(JAVASCRIPT_MODULES);
const UNKNOWN_MODULE: Match = {
  rule: "unknown-module",
  level: "low",
  why: "Imports a module that is not known here.",
};

/** Judges a module by the longest part of its name that is known. */
function importPython(module: string, offset: number, report: Report): void {
  if (module === "urllib.parse" || module === "urllib.error" || module === "os.path") return;
  for (let part = module; part !== ""; part = part.slice(0, Math.max(0, part.lastIndexOf(".")))) {
    const rule = IN_PYTHON.get(part);
    if (rule === undefined) continue;
    report.add(rule, offset);
    return;
  }
  if (!HARMLESS_IN_PYTHON.has(module.split(".")[0]!)) report.add(UNKNOWN_MODULE, offset);
}

/** A path of the program's own is nothing. */
function importJavaScript(specifier: string, offset: number, report: Report): void {
  if (/^\.{0,2}\//.test(specifier)) {
    const match = specifier.startsWith("/") ? assessPath(specifier, "read") : undefined;
    if (match !== undefined) report.add(match, offset);
    return;
  }
  if (/^(?:https?|data|blob):/.test(specifier)) {
    report.add({ rule: "remote-code", level: "high", why: "Loads code from an address." }, offset);
    return;
  }
  const module = moduleNameOf(specifier);
  const root = module.startsWith("@") ? module : module.split(/[./]/)[0]!;
  const rule = IN_JAVASCRIPT.get(module) ?? IN_JAVASCRIPT.get(root);
  if (rule !== undefined) report.add(rule, offset);
  else if (!HARMLESS_IN_JAVASCRIPT.has(module) && !HARMLESS_IN_JAVASCRIPT.has(root))
    report.add(UNKNOWN_MODULE, offset);
}

/** What a call would do, judged by its arguments. */
function judgeCall(call: KnownCall, report: Report): void {
  const { known, offset } = call;
  if (known.level !== "safe") report.add(known, offset);
  if (known.endless !== undefined && call.endless) report.add({ ...SPAWNING, level: known.endless }, offset);
  if (known.starts !== undefined) judgeCommand(call, report);
  if (
    known.code !== undefined &&
    (known.codeIf === undefined || startsOf(call).some(({ kind }) => kind === "code"))
  )
    judgeSource(argument(call, known.code), "code", offset, report);
  for (const [ref, access] of known.paths ?? []) touchPath(argument(call, ref), access, call, report);
  if (known.unpacks !== undefined && (argument(call, known.unpacks).marks & MARKS.network) !== 0)
    report.add(REMOTE_DATA, offset);
  if (known.signals !== undefined) judgeSignal(call, argument(call, known.signals), report);
  if (known.starts !== undefined) judgeEnvironment(call, report);
  if (known.sends === true) send(call, report);
  if (known.amount !== undefined) takeAmount(call, known.amount, report);
  if (known.level === "safe" && (known.starts ?? known.code) !== undefined)
    for (const start of startsOf(call)) nestStart(start, known.language ?? "python", report);
}

const REMOTE_DATA: Match = {
  rule: "remote-code",
  level: "high",
  why: "Reads data that came over the network and can run code.",
};

/** Signal 0 only asks whether a process is there. */
function judgeSignal(call: KnownCall, process: Value, report: Report): void {
  if (call.args[1]?.numbers[0] === 0 && call.args[1].numbers.length === 1) return;
  const constant = process.numbers.length > 0 && (process.marks & MARKS.partial) === 0;
  if (constant || (process.marks & MARKS.others) !== 0)
    report.add({ ...call.known, level: "high", why: "Signals processes that are not its own." }, call.offset);
}

/** Variables that make a started program load other code. */
function judgeEnvironment(call: KnownCall, report: Report): void {
  if (call.keywords.get("env")?.keys?.some((name) => name !== undefined && isLoaderVariable(name)))
    report.add(LOADER_VARIABLE, call.offset);
}

const SPAWNING = { rule: "endless-spawning", why: "Starts processes or threads in a loop without an end." };

/** A command must not have been hidden, nor come from outside; of a word among others only the beginning counts. */
function judgeCommand(call: KnownCall, report: Report): void {
  const { known, offset, args } = call;
  const command = argument(call, known.starts![1]);
  const list = command.items ?? (args[1]?.items !== undefined ? [command, ...args[1].items] : undefined);
  if (list === undefined) {
    const whole = command.texts.length === 0 || command.texts.some((text) => text.startsWith(HOLE));
    judgeSource(whole ? command : unmark(command, MARKS.network), "command", offset, report);
  } else {
    const interpreted = INTERPRETER.test(list[0]?.texts[0] ?? "");
    list.forEach((word, index) => {
      judgeSource(index === 0 || interpreted ? word : unmark(word, MARKS.network), "command", offset, report);
    });
  }
  const input = known.input === undefined ? UNKNOWN : argument(call, known.input);
  if (allTexts(command).some((text) => INTERPRETER.test(text))) judgeSource(input, "command", offset, report);
  if (input.texts.length > 0 && allTexts(command).some((text) => /(?:^|\/)(?:ba|da|z|k)?sh$/.test(text)))
    for (const text of input.texts) nestShell(withHoles(text), offset, report);
}

/** Programs that run what their words say. */
const INTERPRETER = /(?:^|\/)(?:(?:ba|da|z|k)?sh|python[\d.]*|node|perl|ruby|php|env|sudo)$/;

/** What a program starts is read in turn. */
function nestStart(start: ProcessStart, language: "python" | "javascript", report: Report): void {
  if (start.kind === "code") {
    report.add(DYNAMIC_CODE, start.at);
    if (start.code !== undefined)
      report.nest({ language, text: start.code.replaceAll(HOLE, "SKERRY_UNKNOWN"), offset: start.at });
  } else if (start.kind === "text") {
    if (start.text !== undefined) nestShell(withHoles(start.text), start.at, report);
  } else nestShell(start.argv.map((word) => quote(word ?? HOLE)).join(" "), start.at, report);
}

const DYNAMIC_CODE: Match = {
  rule: "dynamic-code",
  level: "medium",
  why: "Runs code that is made while the program runs.",
};

function nestShell(text: string, offset: number, report: Report): void {
  // A lone unknown would be taken for an unknown command, which the rule itself already says.
  if (text.replaceAll(UNKNOWN_WORD, "").replace(/[\s"]/g, "") === "") return;
  report.nest({ language: "bash", text, offset });
}

/** A variable that the shell's reader cannot know either. */
const UNKNOWN_WORD = "$SKERRY_UNKNOWN";

function withHoles(text: string): string {
  return text.replaceAll(HOLE, UNKNOWN_WORD);
}

function quote(word: string): string {
  return word
    .split(HOLE)
    .map((part) =>
      part === "" ? "" : /^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`,
    )
    .join(`"${UNKNOWN_WORD}"`);
}

/** The path of a secret, or the environment, given to something that is not known. */
function judgeOtherCall({ names, method, args, offset }: OtherCall, report: Report): void {
  if (names.some((name) => /^(?:builtins|logging|console|sqlite3)\./.test(name))) return;
  if (/^(?:execute\w*|query|\$?executeRaw\w*|raw|command|get|request|fetch)$/i.test(method ?? ""))
    for (const match of args.flatMap((arg) => arg.texts).flatMap(assessText)) report.add(match, offset);
  for (const text of args.flatMap((arg) => arg.texts)) {
    if (text.length > 256 || !/^[~/.]/.test(text)) continue;
    const match = assessPath(text, "read");
    if (match !== undefined && rankOf(match.level) >= rankOf("high"))
      report.add({ ...match, level: "medium" }, offset);
  }
  if ((marksOf(args) & MARKS.environment) !== 0)
    report.add({ rule: "environment", level: "low", why: "Hands on the whole environment." }, offset);
}

/** What is run must not have been hidden, nor come from outside. */
function judgeSource(value: Value, what: "code" | "command", offset: number, report: Report): void {
  if ((value.marks & MARKS.decoded) !== 0) {
    report.add(
      { rule: `hidden-${what}`, level: "high", why: `Runs ${what} that was encoded or spelt out.` },
      offset,
    );
  }
  if ((value.marks & MARKS.network) !== 0) {
    report.add(
      { rule: `remote-${what}`, level: "high", why: `Runs ${what} that came over the network.` },
      offset,
    );
  }
}

function touchPath(path: Value, access: Access, call: KnownCall, report: Report): void {
  const kind = isWriting(call) ? "write" : access;
  if ((path.marks & MARKS.wholeTree) !== 0 && kind !== "read") {
    report.add(
      { rule: "whole-tree", level: "high", why: "Changes files all over the home directory or the system." },
      call.offset,
    );
  }
  for (const text of [
    ...path.texts,
    ...(path.items ?? []).slice(0, MAX_PATHS).flatMap((item) => item.texts),
  ]) {
    const match = text === HOLE ? undefined : assessPath(text.replaceAll(HOLE, "*"), kind);
    if (match !== undefined) report.add(match, call.offset);
  }
}

/** Marks of what the call hands out, without what goes into headers: that is where credentials belong. */
function sentMarks(call: KnownCall): number {
  let marks = 0;
  for (const value of call.args) marks |= marksWithoutHeaders(value);
  for (const [name, value] of call.keywords)
    if (!isHeader(name) && !CREDENTIALS.test(name)) marks |= marksWithoutHeaders(value);
  return marks;
}

function marksWithoutHeaders(value: Value): number {
  const { keys, items } = value;
  if (keys?.includes("grant_type")) return 0;
  if (keys === undefined || items === undefined || !keys.some(isHeader)) return value.marks;
  return items.reduce((marks, item, index) => (isHeader(keys[index]) ? marks : marks | item.marks), 0);
}

function isHeader(name: string | undefined): boolean {
  return name !== undefined && /^(?:headers?|auth|authorization|cookies|cert)$/i.test(name);
}

/** Options of a client that it logs in with. */
const CREDENTIALS =
  /^(?:(?:access_?|auth_?)?token|api_?key|password|(?:client_?|aws_?)?secret\w*|credentials)$/i;

/** A call that logs in is what a credential is for. */
const LOGIN = /\.(?:login|auth\w*|connect|userauth\w*|set_password)$/;

function send(call: KnownCall, report: Report): void {
  if ((sentMarks(call) & SECRETS) !== 0 && !LOGIN.test(call.name)) {
    report.add(
      { rule: "exfiltration", level: "high", why: "Hands secrets or the environment to the network." },
      call.offset,
    );
  }
  const verb =
    /\.(?:delete|del|destroy|remove)$/.test(call.name) ||
    call.keywords.get("method")?.texts.includes("DELETE");
  if (verb === true && ((marksOf(call.args) | marksOf([...call.keywords.values()])) & MARKS.network) !== 0)
    report.add(DELETES_LISTED, call.offset);
  const scanned = SCANS.test(call.name) && (marksOf(call.args) & MARKS.others) !== 0;
  const values = [call.receiver, ...call.args, ...call.keywords.values()];
  if (
    scanned &&
    !values.flatMap((value) => allTexts(value)).some((text) => /^(?:localhost|127\.)/.test(text))
  )
    report.add(
      { rule: "scan", level: "high", why: "Tries one machine or port after the other." },
      call.offset,
    );
  for (const value of values) {
    for (const text of allTexts(value)) {
      for (const match of assessText(text)) report.add(match, call.offset);
    }
  }
}

const DELETES_LISTED: Match = {
  rule: "service-destruction",
  level: "high",
  why: "Deletes everything that a service lists.",
};
const SCANS =
  /^(?:socket|paramiko|telnetlib|net|asyncssh)\b.*(?:connect\w*|create_connection|createConnection|Telnet)$/;

function takeAmount(call: KnownCall, [ref, limit]: readonly [ArgumentRef, number], report: Report): void {
  if (argument(call, ref).numbers.some((amount) => amount >= limit)) report.add(HUGE_ALLOCATION, call.offset);
}
