import { type Place, type ReachRule, SELF } from "../program/known-functions.js";
import { allTexts, HOLE, MARKS, UNKNOWN, unmark, type Value } from "../program/value.js";
import type { Match, Report } from "./findings.js";
import { type Access, assessPath, isSecretPath } from "./path-rules.js";
import { assessText } from "./text-rules.js";

/** A call that a rule knows, with what is known about its arguments. */
export interface Reached {
  readonly rule: ReachRule;
  readonly args: readonly Value[];
  readonly keywords: ReadonlyMap<string, Value>;
  /** What the method is called on. */
  readonly receiver: Value;
  readonly offset: number;
  /** Inside of a loop that nothing ends. */
  readonly endless: boolean;
}

/** More paths in one list are not looked at. */
const MAX_PATHS = 16;
const SECRETS = MARKS.secret | MARKS.environment | MARKS.credential | MARKS.wholeTree;

/** Reports what a call would do, judged by its arguments. */
export function reach(call: Reached, report: Report): void {
  const { rule, offset } = call;
  if (rule.level !== "safe") report.add(rule, offset);
  if (rule.endless !== undefined && call.endless) {
    report.add(
      {
        rule: "endless-spawning",
        level: rule.endless,
        why: "Starts processes or threads in a loop without an end.",
      },
      offset,
    );
  }
  if (rule.command !== undefined) runCommand(argument(call, rule.command), call, report);
  if (rule.words !== undefined) runWords(call.args.slice(rule.words), call, report);
  if (rule.code !== undefined) runCode(argument(call, rule.code), call, report);
  for (const [place, access] of rule.paths ?? []) touchPath(argument(call, place), access, call, report);
  if (rule.sends === true) send(call, report);
  if (rule.amount !== undefined) takeAmount(call, rule.amount, report);
}

/** The value at a place of the call. */
export function argument(call: Pick<Reached, "args" | "keywords" | "receiver">, place: Place): Value {
  if (place === SELF) return call.receiver;
  if (typeof place === "number") return call.args[place] ?? UNKNOWN;
  if (typeof place === "string") return call.keywords.get(place) ?? UNKNOWN;
  return call.args[place[0]] ?? call.keywords.get(place[1]) ?? UNKNOWN;
}

/** Where the result of a call comes from. */
export function marksOfResult(
  rule: ReachRule,
  call: Pick<Reached, "args" | "keywords" | "receiver">,
): number {
  const opened = (rule.paths ?? []).flatMap(([place]) => argument(call, place).texts);
  return (rule.returns ?? 0) | (opened.some(isSecretPath) ? MARKS.secret : 0);
}

function runCommand(command: Value, call: Reached, report: Report): void {
  // One word of a command from elsewhere is an argument; only the beginning says what runs.
  const whole = command.texts.length === 0 || command.texts.some((text) => text.startsWith(HOLE));
  if (command.items === undefined)
    judgeSource(whole ? command : unmark(command, MARKS.network), "command", call.offset, report);
  for (const text of command.texts) nestShell(withHoles(text), call, report);
  // JavaScript gives the words apart from the program: spawn("sh", ["-c", …]).
  const rest = call.args[1]?.items !== undefined && command.items === undefined ? call.args[1].items : [];
  if (rest.length > 0 && command.texts.length > 0) runWords([command, ...rest], call, report);
  if (command.items !== undefined) runWords(command.items, call, report);
  const input = call.rule.input === undefined ? UNKNOWN : argument(call, call.rule.input);
  if (input.texts.length > 0 && allTexts(command).some((text) => /(?:^|\/)(?:ba|da|z|k)?sh$/.test(text))) {
    for (const text of input.texts) nestShell(withHoles(text), call, report);
  }
}

function runWords(words: readonly Value[], call: Reached, report: Report): void {
  if (words.length === 0) return;
  const program = words[0]?.texts[0] ?? "";
  const interpreted = INTERPRETER.test(program);
  words.forEach((word, index) => {
    const judged = index === 0 || interpreted ? word : unmark(word, MARKS.network);
    judgeSource(judged, "command", call.offset, report);
  });
  const quoted = words.flatMap((word) => (word.items ?? [word]).map((one) => quote(one.texts[0] ?? HOLE)));
  nestShell(quoted.join(" "), call, report);
}

function nestShell(text: string, call: Reached, report: Report): void {
  // A lone unknown would be taken for an unknown command, which the rule itself already says.
  if (text.replaceAll(UNKNOWN_WORD, "").replace(/[\s"]/g, "") === "") return;
  report.nest({ language: "bash", text, offset: call.offset });
}

/** Programs that run what their words say. */
const INTERPRETER = /(?:^|\/)(?:(?:ba|da|z|k)?sh|python[\d.]*|node|perl|ruby|php|env|sudo)$/;

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

function runCode(code: Value, call: Reached, report: Report): void {
  if (call.rule.codeIfText === true && code.texts.length === 0 && code.marks === 0) return;
  judgeSource(code, "code", call.offset, report);
  for (const text of code.texts) {
    if (text === HOLE) continue;
    report.nest({
      language: call.rule.language ?? "python",
      text: text.replaceAll(HOLE, "SKERRY_UNKNOWN"),
      offset: call.offset,
    });
  }
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

/** What a started program reads may be what it runs. */
export function feed(input: Value, offset: number, report: Report): void {
  judgeSource(input, "command", offset, report);
}

function touchPath(path: Value, access: Access, call: Reached, report: Report): void {
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

function isWriting(call: Reached): boolean {
  if (call.rule.mode === undefined) return false;
  return argument(call, call.rule.mode).texts.some((mode) => mode.length <= 8 && /[wax+]/.test(mode));
}

/** Marks of what the call hands out, without what goes into headers: that is where credentials belong. */
function sentMarks(call: Reached): number {
  let marks = 0;
  for (const value of call.args) marks |= marksWithoutHeaders(value);
  for (const [name, value] of call.keywords) if (!isHeader(name)) marks |= marksWithoutHeaders(value);
  return marks;
}

function marksWithoutHeaders(value: Value): number {
  const { keys, items } = value;
  if (keys === undefined || items === undefined || !keys.some(isHeader)) return value.marks;
  return items.reduce((marks, item, index) => (isHeader(keys[index]) ? marks : marks | item.marks), 0);
}

function isHeader(name: string | undefined): boolean {
  return name !== undefined && /^(?:headers?|auth|authorization|cookies|cert)$/i.test(name);
}

function send(call: Reached, report: Report): void {
  if ((sentMarks(call) & SECRETS) !== 0) {
    report.add(
      { rule: "exfiltration", level: "high", why: "Hands secrets or the environment to the network." },
      call.offset,
    );
  }
  const values = [call.receiver, ...call.args, ...call.keywords.values()];
  for (const value of values) {
    for (const text of allTexts(value)) {
      for (const match of assessText(text)) report.add(match, call.offset);
    }
  }
}

function takeAmount(call: Reached, [place, limit]: readonly [Place, number], report: Report): void {
  if (argument(call, place).numbers.some((amount) => amount >= limit))
    report.add(HUGE_ALLOCATION, call.offset);
}

export const HUGE_ALLOCATION: Match = {
  rule: "huge-allocation",
  level: "high",
  why: "Takes more memory than a sandbox should have.",
};
