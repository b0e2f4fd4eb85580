import { expect, it } from "vitest";
import { type HumanEvalTask, humanEvalTasks } from "../../../../test/setup/human-eval.js";
import { requires } from "../../../../test/setup/requires.js";
import { readSuite } from "../../../../test/setup/suites.js";
import { useTestDriven } from "../../../../test/setup/test-driven.js";

const real = requires("root", "bubblewrap", "python3", "pytest");

/** Every eighth of 164; all of them in the soak. */
const STEP = readSuite() === "soak" ? 1 : 8;

real.describe("the programs of HumanEval", { timeout: 600_000 }, () => {
  const testDriven = useTestDriven();
  const testsOf = ({ test, entry_point }: HumanEvalTask) =>
    `from solution import *\n${test}\n\ndef test_solution():\n    check(${entry_point})\n`;

  it("pass their tests apart from them, and fail where they are wrong", async () => {
    const tasks = humanEvalTasks().filter((_, index) => index % STEP === 0);
    const wrong: string[] = [];
    const rest = tasks.values();
    const work = async () => {
      for (const task of rest) {
        const right = await testDriven.run(task.prompt + task.canonical_solution, testsOf(task));
        if (!right.allPassed)
          wrong.push(`${task.task_id} fails: ${right.failures[0]?.message ?? right.error}`);
        const none = await testDriven.run(`${task.prompt}    return None\n`, testsOf(task));
        if (none.outcome !== "failed") wrong.push(`${task.task_id} without a solution: ${none.outcome}`);
      }
    };
    await Promise.all([work(), work()]);
    expect(wrong).toEqual([]);
    expect(tasks.length).toBe(Math.ceil(164 / STEP));
  });
});
