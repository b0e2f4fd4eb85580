import { type RunnerTask, TestRunner } from "vitest";

/** Tests of security and of races: a failure that shows once is a failure. */
const NEVER_RETRIED =
  /attack|hostile|race|isolation|walls|access|seccomp|cells|neighbour|found-by|property|leaks|server-(?:kill|load|fuzz)|cluster|\/store\//;

/**
 * Retries a failed test once in CI, where two cores carry hundreds of sandboxes and four daemons and some tests are late.
 * The run ends with a list of the tests that needed it.
 */
export default class RetryRunner extends TestRunner {
  override async onBeforeRunTask(task: RunnerTask): Promise<void> {
    await super.onBeforeRunTask(task);
    if (process.env.CI !== "true" || task.type !== "test" || NEVER_RETRIED.test(task.file.name)) return;
    task.retry = 1;
  }
}
