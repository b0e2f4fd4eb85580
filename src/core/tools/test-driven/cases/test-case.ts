import { SandboxError } from "../../../../kit/errors.js";
import { isPlainObject } from "./encoded-values.js";

/** A call of the solution, by the name of what is called. */
export interface FunctionCall {
  /** A name of the solution, or a way to one: `Stack.create`. */
  readonly function: string;
  readonly args?: readonly unknown[];
  /** By name; Python only. */
  readonly kwargs?: Readonly<Record<string, unknown>>;
}

/** What an exception has to be. */
export interface ExpectedError {
  /** Its class, or one that it is derived from. */
  readonly type: string;
  /** A part of its text. */
  readonly message?: string;
}

/** One case: what to do with the solution, and what has to come of it. The solution never learns the second. */
export interface TestCase {
  /** Left out: what is called, or its number. */
  readonly name?: string;
  /** An expression of the language, with the solution's names; or a function and its arguments. */
  readonly call?: string | FunctionCall;
  /** Or: the solution runs as a program, with this as its standard input and `args` as its arguments. */
  readonly input?: string;
  readonly args?: readonly string[];
  /** The value of the call, or what the program prints. */
  readonly expected?: unknown;
  /** Or: the exception that the call ends with. */
  readonly raises?: string | ExpectedError;
  /** How far numbers may be off, also those inside of lists and objects. */
  readonly tolerance?: number;
  /** Left out: the run's `caseTimeoutMs`. */
  readonly timeoutMs?: number;
}

const MAX_CASES = 10_000;
const KEYS = ["name", "call", "input", "args", "expected", "raises", "tolerance", "timeoutMs"];

/** Checks cases that may come from a file. An error names the case and what is wrong with it. */
export function parseCases(input: unknown): readonly TestCase[] {
  if (!Array.isArray(input))
    throw invalid("Cases are a list", 'For example [{ "call": "add(1, 2)", "expected": 3 }].');
  if (input.length > MAX_CASES)
    throw invalid(`There are more than ${MAX_CASES} cases`, "Give fewer at once.");
  return input.map((given: unknown, index) => {
    const problem = problemOf(given);
    if (problem === undefined) return { ...(given as TestCase) };
    throw invalid(
      `Case ${index + 1}: ${problem}`,
      'A case has a call or an input, and expected or raises: { "call": "add(1, 2)", "expected": 3 }.',
    );
  });
}

/** What a case is called. */
export function nameOfCase({ name, call, input }: TestCase, index: number): string {
  const text = name ?? (typeof call === "string" ? call : call === undefined ? undefined : callText(call));
  if (text === undefined) return input === undefined ? `case ${index + 1}` : `input ${index + 1}`;
  return text.length > 500 ? `${text.slice(0, 499)}…` : text;
}

/** A call as one would write it. */
export function callText(call: string | FunctionCall): string {
  if (typeof call === "string") return call;
  const { args = [], kwargs = {} } = call;
  const named = Object.entries(kwargs).map(([key, value]) => `${key}=${shown(value)}`);
  return `${call.function}(${[...args.map(shown), ...named].join(", ")})`;
}

function shown(value: unknown): string {
  try {
    return (
      JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each)) ?? "undefined"
    );
  } catch {
    return "…";
  }
}

function problemOf(given: unknown): string | undefined {
  if (!isPlainObject(given)) return "it is no object";
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) return `it has ${JSON.stringify(unknown)}, which is unknown`;
  const { name, call, input, args, raises, tolerance, timeoutMs } = given as Record<string, unknown>;
  if (name !== undefined && (typeof name !== "string" || name === "" || name.length > 500)) {
    return "its name must be text of 500 characters at most";
  }
  if ((call === undefined) === (input === undefined)) return "it must have either a call or an input";
  if (Object.hasOwn(given, "expected") === (raises !== undefined))
    return "it must have either expected or raises";
  if (call !== undefined && typeof call !== "string") {
    const problem = problemOfCall(call);
    if (problem !== undefined) return problem;
  }
  if (input !== undefined) {
    if (typeof input !== "string") return "its input must be text";
    if (typeof given.expected !== "string") return "with an input, expected must be the text that is printed";
  }
  if (args !== undefined && (input === undefined || !isTexts(args)))
    return "args must be texts, and need an input";
  if (raises !== undefined && typeof raises !== "string" && !isExpectedError(raises)) {
    return "raises must be the name of a class, or { type, message }";
  }
  if (
    tolerance !== undefined &&
    !(typeof tolerance === "number" && tolerance >= 0 && Number.isFinite(tolerance))
  ) {
    return "its tolerance must be a number of at least zero";
  }
  if (timeoutMs !== undefined && !(typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs < 2 ** 31)) {
    return "its timeoutMs must be a number above zero";
  }
  return undefined;
}

function problemOfCall(call: unknown): string | undefined {
  if (!isPlainObject(call)) return "its call must be text, or { function, args, kwargs }";
  const { function: target, args, kwargs, ...more } = call as Record<string, unknown>;
  const unknown = Object.keys(more)[0];
  if (unknown !== undefined) return `its call has ${JSON.stringify(unknown)}, which is unknown`;
  if (typeof target !== "string" || !/^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$/.test(target)) {
    return "its function must be a name such as add or Stack.create";
  }
  if (args !== undefined && !Array.isArray(args)) return "its args must be a list";
  if (kwargs !== undefined && !isPlainObject(kwargs)) return "its kwargs must be an object";
  return undefined;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string" && !each.includes("\0"));
}

function isExpectedError(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const { type, message, ...more } = value as Record<string, unknown>;
  const hasMessage = message === undefined || typeof message === "string";
  return typeof type === "string" && hasMessage && Object.keys(more).length === 0;
}

function invalid(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}
