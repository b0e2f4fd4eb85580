import { describe, expect, it } from "vitest";
import type { ToolResult } from "../../core/manager/index.js";
import { closingLines, endLine } from "./result-text.js";

const RESULT: ToolResult = {
  version: 1,
  success: true,
  reason: "exited",
  exitCode: 0,
  signal: null,
  stdout: "42\n",
  stderr: "",
  truncated: false,
  executionTimeMs: 1,
  cpuTimeMs: 1,
  memoryUsedMb: 1,
  sandboxType: "bubblewrap",
  sandboxId: "sbx-1",
  sessionId: "work",
  filesWritten: [],
  filesDeleted: ["gone"],
  fileChanges: [{ path: "gone", change: "deleted" }],
  warm: true,
};
const decision = (verdict: "allow" | "confirm" | "deny") =>
  ({
    verdict,
    why: "curl is not allowed",
    rule: {
      source: "policy.yaml",
      line: 31,
      column: 9,
      path: "policies.tools.shell_exec.denied_commands[2]",
    },
  }) as unknown as NonNullable<ToolResult["decision"]>;
const risk = {
  level: "high",
  findings: [
    { rule: "network", level: "medium", line: 1, column: 1, excerpt: "", why: "" },
    { rule: "remote-code", level: "high", line: 2, column: 1, excerpt: "", why: "" },
  ],
  language: "bash",
  parsed: true,
  detectedPatterns: ["remote-code", "network"],
} as const;

describe("the line for a person", () => {
  const ended = (fields: Partial<ToolResult>) => endLine({ ...RESULT, success: false, ...fields });

  it.each<[string, Partial<ToolResult>, string]>([
    [
      "a denial names the rule and its line",
      { reason: "denied", decision: decision("deny"), error: "whatever" },
      "denied by policy.yaml:31 (policies.tools.shell_exec.denied_commands[2]): curl is not allowed",
    ],
    [
      "a denial for its risk is no rule's",
      { reason: "denied", decision: decision("allow"), error: "The code's risk is high" },
      "denied: The code's risk is high",
    ],
    [
      "a rejection names who, why, and the rule that asked",
      {
        reason: "rejected",
        decision: decision("confirm"),
        risk,
        error: "not now",
        confirmation: { approved: false, edited: false, by: "ann" },
      },
      "rejected by ann: not now (policy.yaml:31 (policies.tools.shell_exec.denied_commands[2]) asks for a person)",
    ],
    [
      "a rejection for its risk names what was found",
      { reason: "rejected", risk, error: "there is no terminal" },
      "rejected: there is no terminal (risk high: remote-code on line 2)",
    ],
    [
      "an ending has its own words",
      { reason: "timeout", error: "Execution timeout (1s)" },
      "Execution timeout (1s)",
    ],
    ["nothing in it acts", { reason: "rejected", error: "\x1b[2J" }, "rejected: \\x1b[2J"],
  ])("%s", (_, fields, line) => {
    expect(ended(fields)).toBe(line);
  });
});

it("says in one line which default limits do not hold, whatever came of the program", () => {
  expect(closingLines({ ...RESULT, limitsNotEnforced: ["memory", "cpu", "workspace"] })).toEqual([
    "the default limits of memory, cpu and workspace are not enforced here: skerry doctor says why",
  ]);
  expect(closingLines(RESULT)).toEqual([]);
});
