import { describe, expect, it } from "vitest";
import { describePool } from "./pool.js";

describe("what a person is shown of a pool", () => {
  const plain = (_: string, words: string) => words;

  it("has all that matters, and nothing in it acts", () => {
    const counts = { created: 9, failures: 3, resets: 4, destroyed: 5, timeouts: 1, hits: 7, misses: 2 };
    const status = {
      ...{
        idle: 2,
        acquiring: 1,
        busy: 3,
        resetting: 0,
        leaving: 1,
        waiting: 4,
        minInstances: 2,
        maxInstances: 10,
      },
      ...counts,
      instances: [
        { state: "idle", ageMs: 3400, uses: 0 },
        { state: "busy", ageMs: 720_000, uses: 1 },
      ] as const,
      lastFailure: { at: new Date(2026, 1, 7, 12), code: "DISK_FULL", message: "full\u001b[31m\n!" } as const,
      nextAttemptAt: new Date(2026, 1, 7, 12, 0, 30),
    };
    expect(describePool({ pid: 7, backend: "docker\u0007", status }, plain)).toBe(
      `process 7: docker\\x07
  2 idle, 1 acquiring, 3 busy, 1 leaving; at most 10, 2 kept ready
  4 waiting, 1 timed out
  7 hits, 2 misses; 9 made, 4 resets, 3 failures
  ages 3 s to 12 min
  last failure 2026-02-07 12:00:00 DISK_FULL: full\\x1b[31m\\x0a!; next attempt 2026-02-07 12:00:30
`,
    );
    expect(describePool({ pid: 7, problem: "\u001b[2J" }, plain)).toBe("process 7: no answer\n  \\x1b[2J\n");
  });
});
