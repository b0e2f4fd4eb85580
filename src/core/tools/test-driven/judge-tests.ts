import type { TestOutcome } from "./report.js";
import { firstLine, type TestList } from "./test-list.js";

/** A run's outcome, and in one line why it is not `passed`. */
export interface TestsVerdict {
  readonly outcome: TestOutcome;
  readonly error?: string;
}

/** What the tests themselves say, once their runner has said that it is done. */
export function judgeTests(list: TestList): TestsVerdict {
  if (list.broken !== undefined) {
    const { bySolution, message } = list.broken;
    return bySolution
      ? { outcome: "failed", error: `The tests cannot use the solution: ${message}` }
      : { outcome: "tests-broken", error: `The tests could not be loaded: ${message}` };
  }
  const results = list.finish("The tests' process ended while it ran");
  const has = (...statuses: string[]) => results.some(({ status }) => statuses.includes(status));
  if (has("failed", "error")) return { outcome: "failed" };
  if (has("not-run")) {
    return { outcome: "tests-broken", error: "The tests' runner ended before it had run all of them" };
  }
  if (has("passed")) return { outcome: "passed" };
  return {
    outcome: "no-tests",
    error: results.length === 0 ? "There are no tests" : "All tests were skipped",
  };
}

/** Why a solution could not be loaded, as an outcome. */
export function judgeLoadFailure({
  kind,
  message,
}: {
  readonly kind: string;
  readonly message: string;
}): TestsVerdict {
  if (kind === "syntax") return { outcome: "syntax-error", error: firstLine(message) };
  return { outcome: "crash", error: `The solution could not be loaded: ${firstLine(message)}` };
}
