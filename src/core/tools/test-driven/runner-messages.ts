import { TEST_STATUSES, type TestResult, type TestStatus } from "./report.js";

/** What the process that runs the tests tells. It is behind walls like any other: nothing that it says is taken on trust. */
export type TestsMessage =
  | { readonly type: "runner"; readonly runner: "pytest" | "unittest" | "node:test" }
  | { readonly type: "found"; readonly tests: readonly string[] }
  | { readonly type: "start"; readonly test: number }
  /** It is there for the tests in it, and is one itself only if something comes of it. */
  | { readonly type: "group"; readonly test: number }
  | { readonly type: "result"; readonly test: number; readonly result: Omit<TestResult, "name"> }
  | { readonly type: "broken"; readonly bySolution: boolean; readonly result: TestResult }
  /** Only where solution and tests run together: elsewhere the solution's own process tells it. */
  | { readonly type: "failed"; readonly failure: LoadFailure }
  | { readonly type: "violation"; readonly what: string }
  | { readonly type: "end" };

/** Why a solution could not even be loaded. */
export interface LoadFailure {
  readonly kind: "syntax" | "error";
  readonly message: string;
  readonly traceback: string;
}

/** What the process that has the solution tells the host itself. */
export type SolutionMessage =
  | { readonly type: "loaded" }
  | { readonly type: "failed"; readonly failure: LoadFailure };

const RUNNERS = ["pytest", "unittest", "node:test"] as const;
const MAX_NAME = 500;
const MAX_TEXT = 64 * 1024;
const MAX_FOUND = 1000;

/** Takes a message of the tests apart; throws for what is none. */
export function parseTestsMessage(message: unknown): TestsMessage {
  const given = objectOf(message);
  switch (given.type) {
    case "runner":
      return { type: "runner", runner: oneOf(RUNNERS, given.runner) };
    case "found":
      return { type: "found", tests: listOf(given.tests, MAX_FOUND).map((name) => textOf(name, MAX_NAME)) };
    case "start":
      return { type: "start", test: numberOf(given.test) };
    case "group":
      return { type: "group", test: numberOf(given.test) };
    case "result":
      return { type: "result", test: numberOf(given.test), result: resultOf(given) };
    case "broken": {
      const result = {
        name: textOf(given.name, MAX_NAME),
        ...resultOf({ ...given, status: "error", durationMs: 0 }),
      };
      return { type: "broken", bySolution: given.bySolution === true, result };
    }
    case "failed":
      return { type: "failed", failure: failureOf(given) };
    case "violation":
      return { type: "violation", what: textOf(given.what, MAX_NAME) };
    case "end":
      return { type: "end" };
    default:
      throw new Error("no message");
  }
}

/** Takes a message of the solution's process apart; throws for what is none. */
export function parseSolutionMessage(message: unknown): SolutionMessage {
  const given = objectOf(message);
  if (given.type === "loaded") return { type: "loaded" };
  if (given.type === "failed") return { type: "failed", failure: failureOf(given) };
  throw new Error("no message");
}

function failureOf({ kind, message, traceback }: Fields): LoadFailure {
  return {
    kind: oneOf(["syntax", "error"] as const, kind),
    message: textOf(message, MAX_TEXT),
    traceback: textOf(traceback, MAX_TEXT),
  };
}

function resultOf(given: Fields): Omit<TestResult, "name"> {
  const texts = ["message", "expected", "actual", "traceback"] as const;
  return {
    status: oneOf(TEST_STATUSES, given.status) as TestStatus,
    durationMs: amountOf(given.durationMs),
    ...Object.fromEntries(
      texts.flatMap((name) => (given[name] === undefined ? [] : [[name, textOf(given[name], MAX_TEXT)]])),
    ),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error("no object");
}

function listOf(value: unknown, most: number): readonly unknown[] {
  if (Array.isArray(value) && value.length <= most) return value;
  throw new Error("no list");
}

function textOf(value: unknown, most: number): string {
  if (typeof value === "string" && value.length <= most) return value;
  throw new Error("no text");
}

function numberOf(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new Error("no number");
}

function amountOf(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw new Error("no amount");
}

function oneOf<T extends string>(known: readonly T[], value: unknown): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  throw new Error("none of the known");
}
