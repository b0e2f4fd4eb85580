import { signalName, type TestingLanguage } from "../../../../runtime/sandbox/index.js";
import type { TestOutcome, TestResult } from "../report.js";
import type { CaseDone, RaisedError } from "./case-messages.js";
import { isSameValue } from "./compare-values.js";
import { describeValue } from "./describe-value.js";
import { encodeValue } from "./encoded-values.js";
import { withoutLineEnds } from "./line-ends.js";
import type { ExpectedError, TestCase } from "./test-case.js";

/** What came of a case; `outcome` where it is more than a wrong value. */
export interface CaseVerdict {
  readonly result: Omit<TestResult, "name">;
  readonly outcome?: Extract<TestOutcome, "crash" | "timeout" | "output-limit">;
}

/** Compares what a solution did with what it should have done. */
export function judgeCase(wanted: TestCase, done: CaseDone, language: TestingLanguage): CaseVerdict {
  const { durationMs, ended, raised, output } = done;
  if (ended !== undefined) return { ...describeUnfinished(ended, durationMs) };
  const expected = describeWanted(wanted, language);
  if (output !== undefined) return { result: { ...judgeOutput(wanted, output, expected), durationMs } };
  if (raised !== undefined)
    return { result: { ...judgeRaised(wanted, raised, language, expected), durationMs } };
  const actual = () => describeValue(done.value, language.values);
  if (wanted.raises !== undefined) {
    const result = { status: "failed", message: "It raised nothing", expected, actual: actual() } as const;
    return { result: { ...result, durationMs } };
  }
  if (isSameValue(wanted.expected, done.value, wanted.tolerance))
    return { result: { status: "passed", durationMs } };
  const shown = actual();
  return {
    result: {
      status: "failed",
      durationMs,
      message: `${cut(shown)} is not ${cut(expected)}`,
      expected,
      actual: shown,
    },
  };
}

function judgeOutput(
  { expected: wanted }: TestCase,
  { stdout, stderr, exitCode }: NonNullable<CaseDone["output"]>,
  expected: string,
): Omit<TestResult, "name" | "durationMs"> {
  const actual = JSON.stringify(stdout);
  const traceback = stderr === "" ? {} : { traceback: stderr };
  if (exitCode !== 0) {
    return {
      status: "failed",
      message: `It ended with exit code ${exitCode}`,
      expected,
      actual,
      ...traceback,
    };
  }
  if (withoutLineEnds(stdout) === withoutLineEnds(String(wanted))) return { status: "passed" };
  return { status: "failed", message: "It printed something else", expected, actual, ...traceback };
}

function judgeRaised(
  { raises }: TestCase,
  raised: RaisedError,
  language: TestingLanguage,
  expected: string,
): Omit<TestResult, "name" | "durationMs"> {
  const wanted: ExpectedError | undefined = typeof raises === "string" ? { type: raises } : raises;
  const isMeant =
    wanted !== undefined &&
    classesOf(raised, language).includes(wanted.type) &&
    raised.message.includes(wanted.message ?? "");
  if (isMeant) return { status: "passed" };
  const text = `${raised.names[0]}: ${raised.message}`;
  return {
    status: "failed",
    message: text,
    expected,
    actual: `raises ${cut(text)}`,
    traceback: raised.traceback,
  };
}

/** Of what is built in only the first counts, with what that is derived from: a class cannot claim to be every class at once. */
function classesOf({ names }: RaisedError, language: TestingLanguage): readonly string[] {
  const first = names.findIndex((name) => builtInAncestors(name, language) !== undefined);
  if (first === -1) return names;
  return [...names.slice(0, first + 1), ...builtInAncestors(names[first]!, language)!];
}

function describeWanted({ expected, raises }: TestCase, language: TestingLanguage): string {
  if (raises === undefined) return describeValue(encodeValue(expected), language.values);
  if (typeof raises === "string") return `raises ${raises}`;
  return `raises ${raises.type}${raises.message === undefined ? "" : ` with ${JSON.stringify(raises.message)}`}`;
}

function describeUnfinished(ended: NonNullable<CaseDone["ended"]>, durationMs: number): CaseVerdict {
  const error = (message: string) => ({ status: "error", durationMs, message }) as const;
  switch (ended.by) {
    case "timeout":
      return { result: error("It ran too long"), outcome: "timeout" };
    case "output":
      return { result: error("It printed too much"), outcome: "output-limit" };
    case "exit":
      return {
        result: error(`The solution ended with exit code ${ended.exitCode} before it answered`),
        outcome: "crash",
      };
    default:
      return { result: error(`The solution was ended by ${signalName(ended.signal)}`), outcome: "crash" };
  }
}

function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** The classes that a built-in exception is derived from, nearest first; undefined: it is not built in. */
function builtInAncestors(
  name: string,
  { exceptions: tree }: TestingLanguage,
): readonly string[] | undefined {
  const ancestors: string[] = [];
  for (let at = parentOf(tree, name); at !== undefined; at = parentOf(tree, at)) ancestors.push(at);
  return ancestors.length > 0 || Object.hasOwn(tree, name) ? ancestors : undefined;
}

function parentOf(tree: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.keys(tree).find((parent) => tree[parent]!.split(" ").includes(name));
}
