import { type CallEnd, describeEnd, endedBy, throwFailure } from "../call-end.js";
import { judgeLoadFailure, judgeTests, type TestsVerdict } from "../judge-tests.js";
import type { SplitEnd } from "./run-split.js";

/** What came of tests that ran apart from their solution. Throws when they could not be run. */
export function judgeSplit(end: SplitEnd): TestsVerdict {
  const { list, solution, tests = {}, loadFailure, violation } = end;
  const refusal = refusalOf("solution", solution) ?? refusalOf("tests", tests);
  if (refusal !== undefined) return refusal;
  if (end.isCancelled) return { outcome: "cancelled", error: "Cancelled" };
  throwFailure(solution);
  throwFailure(tests);
  if (loadFailure !== undefined) return judgeLoadFailure(loadFailure);
  const stopped = timeoutOf(end) ?? stoppedBy("solution", solution) ?? stoppedBy("tests", tests);
  if (stopped !== undefined) return stopped;
  if (violation !== undefined) {
    return violation.by === "solution"
      ? { outcome: "crash", error: `The solution broke the protocol: it sent ${violation.what}` }
      : {
          outcome: "tests-broken",
          error: `The tests broke the protocol: they sent ${violation.what}`,
        };
  }
  if (end.endedEarly) {
    return { outcome: "crash", error: `The solution ${describeEnd(solution)} while it was tested` };
  }
  if (!list.hasEnded) {
    return { outcome: "tests-broken", error: `The tests' process ${describeEnd(tests)} before it finished` };
  }
  const verdict = judgeTests(list);
  return verdict.outcome === "passed" ? (spoiltBy(end) ?? verdict) : verdict;
}

/** A call that was not allowed to run. */
export function refusalOf(who: string, { result }: CallEnd): TestsVerdict | undefined {
  if (result?.reason !== "denied" && result?.reason !== "rejected") return undefined;
  return { outcome: result.reason, error: `The ${who}: ${result.error ?? result.reason}` };
}

/** A call that a limit ended. */
export function stoppedBy(who: string, end: CallEnd): TestsVerdict | undefined {
  const by = endedBy(end);
  if (by === undefined || by === "cancelled") return undefined;
  return { outcome: by, error: `The ${who}: ${end.result?.error ?? by}` };
}

/** Both have the same time limit, and either may end first: the one that the other waited for used it up. */
function timeoutOf({ solution, tests = {}, atWork }: SplitEnd): TestsVerdict | undefined {
  const by = [solution, tests].find((each) => endedBy(each) === "timeout");
  return by && { outcome: "timeout", error: `The ${atWork}: ${by.result?.error ?? "timeout"}` };
}

/** Tests that all passed count only if both processes ended as they should. */
function spoiltBy({ solution, tests = {}, hasLoaded }: SplitEnd): TestsVerdict | undefined {
  if (!hasLoaded) {
    return { outcome: "crash", error: `The solution ${describeEnd(solution)} before it was loaded` };
  }
  // One that was slow to go was ended by us.
  if (solution.result?.success !== true && endedBy(solution) !== "cancelled") {
    return { outcome: "crash", error: `The solution ${describeEnd(solution)} after its last test` };
  }
  if (tests.result?.success === true) return undefined;
  return { outcome: "tests-broken", error: `The tests' process ${describeEnd(tests)}` };
}
