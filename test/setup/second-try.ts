import { type RunnerTask, TestRunner } from "vitest";

/** What must never happen must not happen once: these have no second try. */
const PROMISES =
  /attack|hostile|race|isolation|walls|access|seccomp|cells|neighbour|found-by|property|leaks|server-(?:kill|load|fuzz)|cluster|^src\/store\//;

/**
 * In CI a test that failed runs once more: two cores carry hundreds of sandboxes and four daemons there, and now and then
 * one of them is late. The run says at its end which tests needed it.
 */
export default class SecondTryRunner extends TestRunner {
  override async onBeforeRunTask(task: RunnerTask): Promise<void> {
    await super.onBeforeRunTask(task);
    if (process.env.CI !== "true" || task.type !== "test" || PROMISES.test(task.file.name)) return;
    task.retry = 1;
  }
}
