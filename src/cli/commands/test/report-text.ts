import type { TestOutcome, TestReport, TestResult } from "../../../core/tools/index.js";
import { describeCounts } from "../../../core/tools/index.js";
import type { Paint, Style } from "../../../guard/confirmation/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";

const STYLES: Readonly<Record<TestResult["status"], Style>> = {
  passed: "green",
  failed: "red",
  error: "red",
  skipped: "yellow",
  "not-run": "dim",
};

/** `passed   test_add (3 ms)` */
export function testLine({ status, name, durationMs }: TestResult, paint: Paint): string {
  const isUntimed = status === "not-run" || status === "skipped" || (status === "error" && durationMs === 0);
  const time = isUntimed ? "" : paint("dim", ` (${Math.round(durationMs)} ms)`);
  return `${paint(STYLES[status], status.padEnd(7))} ${escapeUnsafe(name)}${time}`;
}

/** What is to be said of each test that did not pass. */
export function failureLines({ failures }: TestReport, paint: Paint): string[] {
  return failures
    .filter(({ status }) => status !== "not-run")
    .flatMap(({ name, message, expected, actual, traceback }) => [
      "",
      paint("bold", escapeUnsafe(name)),
      ...indented(message),
      ...(expected === undefined ? [] : indented(`expected ${expected}`)),
      ...(actual === undefined ? [] : indented(`actual   ${actual}`)),
      ...indented(traceback),
    ]);
}

/** `failed: 1 failed, 2 passed (0.4 s)` */
export function summaryLine(report: TestReport, paint: Paint): string {
  const { outcome, error, counts, tests, durationMs, isTrustworthy, allPassed } = report;
  const told = describeCounts(counts);
  const why = error === undefined || error === told ? told : `${error} (${told})`;
  const doubt = isTrustworthy ? "" : " – the solution could have faked this";
  const words = `${outcome}: ${escapeUnsafe(why)}, ${(durationMs / 1000).toFixed(1)} s${doubt}`;
  // Apart from the lines of the tests, where there are any.
  return `${tests.length === 0 ? "" : "\n"}${paint(allPassed ? "green" : "red", words)}`;
}

/** Exit statuses by outcome; those of limits and refusals are the same as of `run`. */
const EXIT: Readonly<Record<TestOutcome, number>> = {
  passed: 0,
  failed: 1,
  "syntax-error": 2,
  crash: 3,
  "no-tests": 4,
  "tests-broken": 5,
  denied: 77,
  rejected: 77,
  timeout: 124,
  cancelled: 130,
  memory: 137,
  "output-limit": 137,
};

/** The exit status of `skerry test`. */
export function statusOfReport({ outcome, allPassed }: TestReport): number {
  return allPassed || outcome !== "passed" ? EXIT[outcome] : 1;
}

function indented(text: string | undefined): string[] {
  return text === undefined
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => `  ${escapeUnsafe(line)}`);
}
