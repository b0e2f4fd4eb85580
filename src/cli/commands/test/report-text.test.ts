import { describe, expect, it } from "vitest";
import { createReport, type ReportParts } from "../../../core/tools/test-driven/report.js";
import type { Paint } from "../../output/colour.js";
import { failureLines, statusOfReport, summaryLine, testLine } from "./report-text.js";

const plain: Paint = (_, text) => text;
const marked: Paint = (style, text) => `<${style}>${text}</>`;

const report = (parts: Partial<ReportParts> = {}) =>
  createReport({
    outcome: "failed",
    isTrustworthy: true,
    runner: "pytest",
    language: "python",
    tests: [
      { name: "test_a", status: "passed", durationMs: 2.6 },
      {
        name: "test_b\u001b[2J",
        status: "failed",
        durationMs: 1,
        message: "assert 3 == 4\n\u0007where",
        expected: "4",
        actual: "3",
        traceback: "line 1\nline 2\n",
      },
      { name: "test_c", status: "not-run", durationMs: 0 },
    ],
    durationMs: 1234,
    auditIds: [],
    ...parts,
  });

describe("tests for a person", () => {
  it("are a line each, in which nothing acts on the terminal", () => {
    expect(report().tests.map((test) => testLine(test, plain))).toEqual([
      "passed  test_a (3 ms)",
      "failed  test_b\\x1b[2J (1 ms)",
      "not-run test_c",
    ]);
    expect(testLine(report().tests[0]!, marked)).toBe("<green>passed </> test_a<dim> (3 ms)</>");
  });

  it("have no time where it is unknown", () => {
    const line = (durationMs: number) => testLine({ name: "t", status: "error", durationMs }, plain);
    expect([line(0), line(501.7)]).toEqual(["error   t", "error   t (502 ms)"]);
  });

  it("say of those that failed why", () => {
    expect(failureLines(report(), plain)).toEqual([
      "",
      "test_b\\x1b[2J",
      "  assert 3 == 4",
      "  \\x07where",
      "  expected 4",
      "  actual   3",
      "  line 1",
      "  line 2",
    ]);
  });

  it("end in one line, with a doubt where there is reason for one", () => {
    expect(summaryLine(report(), plain)).toBe("\nfailed: 1 failed, 1 not run, 1 passed, 1.2 s");
    expect(summaryLine(report({ outcome: "crash", error: "The solution ended" }), plain)).toBe(
      "\ncrash: The solution ended (1 failed, 1 not run, 1 passed), 1.2 s",
    );
    const broken = { outcome: "syntax-error", error: "SyntaxError: line 1", tests: [] } as const;
    expect(summaryLine(report(broken), plain)).toBe("syntax-error: SyntaxError: line 1 (no tests), 1.2 s");
    const passed = report({
      outcome: "passed",
      isTrustworthy: false,
      tests: [{ name: "a", status: "passed", durationMs: 1 }],
    });
    expect(summaryLine(passed, marked)).toBe(
      "\n<green>passed: 1 passed, 1.2 s – the solution could have faked this</>",
    );
  });
});

it("a report that says passed and does not look like it is no success", () => {
  expect(statusOfReport(report({ outcome: "passed" }))).toBe(1);
  expect(statusOfReport(report({ outcome: "passed", tests: [] }))).toBe(1);
  expect(statusOfReport(report({ outcome: "timeout" }))).toBe(124);
});
