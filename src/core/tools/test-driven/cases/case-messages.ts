import type { LoadFailure } from "../runner-messages.js";

/** What the process that runs cases tells. All of it is the solution's word. */
export type CaseMessage =
  | { readonly type: "ready" }
  | { readonly type: "failed"; readonly failure: LoadFailure }
  | { readonly type: "done"; readonly case: number; readonly done: CaseDone };

/** The outcome of a case before it is compared. */
export interface CaseDone {
  readonly durationMs: number;
  /** Of a call that returned. */
  readonly value?: unknown;
  /** Of a call that did not. */
  readonly raised?: RaisedError;
  /** Of a program that ended: all that it printed. */
  readonly output?: { readonly stdout: string; readonly stderr: string; readonly exitCode: number };
  /** Of what did not come to its end: why. */
  readonly ended?:
    | { readonly by: "timeout" | "output" }
    | { readonly by: "exit"; readonly exitCode: number }
    | { readonly by: "signal"; readonly signal: number };
}

export interface RaisedError {
  /** Its class, and those it is derived from, up to the first that is built in. */
  readonly names: readonly string[];
  readonly message: string;
  readonly traceback: string;
}

const MAX_NAMES = 8;
const MAX_NAME = 200;
const MAX_TEXT = 64 * 1024;
const MAX_OUTPUT = 4 * 1024 * 1024;

/** Takes a message apart; throws for what is none. */
export function parseCaseMessage(message: unknown): CaseMessage {
  const given = objectOf(message);
  if (given.type === "ready") return { type: "ready" };
  if (given.type === "failed") {
    if (given.kind !== "syntax" && given.kind !== "error") throw new Error("no failure");
    const failure = {
      kind: given.kind,
      message: textOf(given.message),
      traceback: textOf(given.traceback),
    } as const;
    return { type: "failed", failure };
  }
  if (given.type !== "done") throw new Error("no message");
  return { type: "done", case: countOf(given.case), done: doneOf(given) };
}

function doneOf(given: Fields): CaseDone {
  const durationMs = typeof given.durationMs === "number" && given.durationMs >= 0 ? given.durationMs : 0;
  if (given.timedOut === true) return { durationMs, ended: { by: "timeout" } };
  if (given.tooLong === true) return { durationMs, ended: { by: "output" } };
  if (Object.hasOwn(given, "value")) return { durationMs, value: given.value };
  if (given.raised !== undefined) return { durationMs, raised: raisedOf(given.raised) };
  if (given.output === true) {
    const [stdout, stderr] = [textOf(given.stdout, MAX_OUTPUT), textOf(given.stderr, MAX_OUTPUT)];
    return { durationMs, output: { stdout, stderr, exitCode: countOf(given.exitCode) } };
  }
  if (given.signal !== undefined)
    return { durationMs, ended: { by: "signal", signal: countOf(given.signal) } };
  return { durationMs, ended: { by: "exit", exitCode: countOf(given.exitCode) } };
}

function raisedOf(value: unknown): RaisedError {
  const { names, message, traceback } = objectOf(value);
  if (!Array.isArray(names) || names.length === 0 || names.length > MAX_NAMES)
    throw new Error("no exception");
  return {
    names: names.map((name) => textOf(name, MAX_NAME)),
    message: textOf(message),
    traceback: textOf(traceback),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error("no object");
}

function textOf(value: unknown, most = MAX_TEXT): string {
  if (typeof value === "string" && value.length <= most) return value;
  throw new Error("no text");
}

function countOf(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new Error("no number");
}
