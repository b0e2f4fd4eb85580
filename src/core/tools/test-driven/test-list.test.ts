import { describe, expect, it } from "vitest";
import type { TestResult } from "./report.js";
import { parseTestsMessage } from "./runner-messages.js";
import { TestList } from "./test-list.js";

/** What the runner tells, as it comes over its socket. */
function hear(list: TestList, ...messages: object[]): void {
  for (const message of messages) list.hear(parseTestsMessage(JSON.parse(JSON.stringify(message))) as never);
}

describe("the tests of a run", () => {
  it("are told of as they end; what ran when everything ended is an error, the rest did not run", () => {
    const seen: TestResult[] = [];
    const list = new TestList("pytest", (result) => seen.push(result));
    hear(
      list,
      { type: "runner", runner: "unittest" },
      { type: "found", tests: ["a", "b", "group", "c"] },
      { type: "group", test: 2 },
      { type: "start", test: 2 },
      { type: "start", test: 0 },
      {
        type: "result",
        test: 0,
        status: "failed",
        durationMs: 1.5,
        message: "m",
        expected: "1",
        actual: "2",
        traceback: "t",
      },
      { type: "start", test: 1 },
    );
    const results = list.finish("It is gone");
    expect(results).toEqual([
      {
        name: "a",
        status: "failed",
        durationMs: 1.5,
        message: "m",
        expected: "1",
        actual: "2",
        traceback: "t",
      },
      { name: "b", status: "error", durationMs: 0, message: "It is gone" },
      { name: "c", status: "not-run", durationMs: 0 },
    ]);
    expect(seen).toEqual(results);
    expect(list.runner).toBe("unittest");
  });

  it.each<[string, object[]]>([
    ["a result of a test that was not found", [{ type: "result", test: 0, status: "passed", durationMs: 1 }]],
    [
      "two results of one test",
      [
        { type: "found", tests: ["a"] },
        { type: "result", test: 0, status: "failed", durationMs: 1 },
        { type: "result", test: 0, status: "passed", durationMs: 1 },
      ],
    ],
    ["something after the end", [{ type: "end" }, { type: "found", tests: ["a"] }]],
    ["too many tests", Array.from({ length: 11 }, () => ({ type: "found", tests: Array(1000).fill("t") }))],
    [
      "a status that is none",
      [
        { type: "found", tests: ["a"] },
        { type: "result", test: 0, status: "fine", durationMs: 1 },
      ],
    ],
    [
      "a time that is none",
      [
        { type: "found", tests: ["a"] },
        { type: "result", test: 0, status: "passed", durationMs: -1 },
      ],
    ],
    ["a name that is no text", [{ type: "found", tests: [1] }]],
    ["a name without end", [{ type: "found", tests: ["x".repeat(501)] }]],
    [
      "a message without end",
      [
        { type: "found", tests: ["a"] },
        { type: "result", test: 0, status: "failed", durationMs: 1, message: "x".repeat(70_000) },
      ],
    ],
    ["a runner that is none", [{ type: "runner", runner: "nose" }]],
    ["a message that is none", [{ type: "passed" }]],
    ["a list", [[]]],
  ])("are no more than a runner of ours would say: %s", (_, messages) => {
    expect(() => hear(new TestList("pytest"), ...messages)).toThrow();
  });

  it("are kept in bounded detail", () => {
    const list = new TestList("pytest");
    for (let count = 0; count < 400; count++) {
      hear(
        list,
        { type: "found", tests: [`t${count}`] },
        {
          type: "result",
          test: count,
          status: "failed",
          durationMs: 1,
          message: "why\nmore",
          traceback: "x".repeat(60_000),
        },
      );
    }
    const kept = list.finish("");
    expect(kept).toHaveLength(400);
    expect(kept.reduce((sum, { traceback = "" }) => sum + traceback.length, 0)).toBeLessThan(
      17 * 1024 * 1024,
    );
    expect(kept.at(-1)).toEqual({ name: "t399", status: "failed", durationMs: 1, message: "why" });
  });
});
