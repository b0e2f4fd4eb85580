import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Writes "passed failed skipped" to the file named by SKERRY_TEST_COUNTS, for the last line of scripts/test.sh, and lists
 * the tests that passed only when they were retried.
 */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    reportRetries(modules);
    const path = process.env.SKERRY_TEST_COUNTS;
    if (path === undefined) return;
    const { passed, failed, skipped } = count(modules);
    writeFileSync(path, `${passed} ${failed + errors.length} ${skipped}\n`);
  }
}

function reportRetries(modules: readonly TestModule[]): void {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const flaky = tests.filter((test) => test.diagnostic()?.flaky === true);
  if (flaky.length === 0) return;
  console.log(`\nPassed only when retried: ${flaky.length}`);
  for (const test of flaky) {
    const [error] = test.result().errors ?? [];
    console.log(
      `  ${test.module.relativeModuleId} > ${test.fullName}: ${error?.message.split("\n")[0] ?? ""}`,
    );
  }
}

function count(modules: readonly TestModule[]) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const module of modules) {
    let failedHere = 0;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // A test that never ended is one that failed.
      if (state === "pending") failedHere++;
      else if (state === "failed") failedHere++;
      else counts[state]++;
    }
    // A file that could not be loaded, or whose hooks failed, has no failed test of its own.
    counts.failed += failedHere === 0 && module.state() === "failed" ? 1 : failedHere;
  }
  return counts;
}
