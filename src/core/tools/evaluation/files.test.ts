import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import type { SampleResult } from "./evaluate.js";
import { canonicalSamples, loadProblems, loadSamples, type Sample } from "./problems.js";
import { ResultsFile } from "./results-file.js";

let here: string;
beforeEach(() => {
  here = temporaryDirectory();
});

const PROBLEM = { task_id: "T/0", prompt: "p", test: "t", entry_point: "f", canonical_solution: "c" };

function file(name: string, ...rows: (object | string)[]): string {
  const path = join(here, name);
  const text = rows.map((row) => `${typeof row === "string" ? row : JSON.stringify(row)}\n`).join("");
  writeFileSync(path, name.endsWith(".gz") ? gzipSync(text) : text);
  return path;
}

describe("problems and samples", () => {
  it.each(["problems.jsonl", "problems.jsonl.gz"])("are read from %s, blank lines aside", async (name) => {
    const problems = await loadProblems(file(name, PROBLEM, "", { ...PROBLEM, task_id: "T/1", more: 1 }));
    expect([...problems.keys()]).toEqual(["T/0", "T/1"]);
    expect(canonicalSamples(problems)).toEqual([
      { taskId: "T/0", completionId: 0, completion: "c" },
      { taskId: "T/1", completionId: 0, completion: "c" },
    ]);
  });

  it("number the samples of each task", async () => {
    const problems = await loadProblems(file("p.jsonl", PROBLEM, { ...PROBLEM, task_id: "T/1" }));
    const rows = ["T/0", "T/1", "T/0"].map((task_id, index) => ({ task_id, completion: String(index) }));
    const samples = await loadSamples(file("s.jsonl", ...rows, { task_id: "T/1", solution: "x" }), problems);
    expect(samples.map(({ taskId, completionId }) => `${taskId} ${completionId}`)).toEqual([
      "T/0 0",
      "T/1 0",
      "T/0 1",
      "T/1 1",
    ]);
  });

  it.each([
    ["a line that is no JSON", [PROBLEM, "{"], "p.jsonl, line 2: not a line of JSON"],
    ["a problem without tests", [{ ...PROBLEM, test: undefined }], "p.jsonl, line 1: Invalid input"],
    [
      "a function that is none",
      [{ ...PROBLEM, entry_point: "f(); import os" }],
      "expected the name of a function",
    ],
    ["a task that is there twice", [PROBLEM, PROBLEM], 'the task "T/0" occurs twice'],
    ["no problem", [""], "there is no problem in the file"],
  ])("refuse %s, and say where it is", async (_, rows, message) => {
    await expect(loadProblems(file("p.jsonl", ...rows))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ["an unknown task", { task_id: "T/00", completion: "x" }, 'Did you mean "T/0"?'],
    ["neither completion nor solution", { task_id: "T/0" }, "docs/evaluation.md has the formats."],
    ["both", { task_id: "T/0", completion: "x", solution: "y" }, "docs/evaluation.md has the formats."],
  ])("refuse a sample with %s", async (_, row, hint) => {
    const problems = await loadProblems(file("p.jsonl", PROBLEM));
    await expect(loadSamples(file("s.jsonl", row), problems)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      hint,
    });
  });

  it("tell a missing file, and one that is no gzip though its name says so", async () => {
    await expect(loadProblems(join(here, "none"))).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    writeFileSync(join(here, "plain.gz"), "{}\n");
    await expect(loadProblems(join(here, "plain.gz"))).rejects.toMatchObject({
      code: "FILE_FAILED",
      message: "plain.gz is not a gzip file, although its name ends in .gz",
    });
  });

  it("tell where there are no solutions of their own", async () => {
    const problems = await loadProblems(file("p.jsonl", { ...PROBLEM, canonical_solution: undefined }));
    expect(() => canonicalSamples(problems)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

describe("the file of results", () => {
  const samples: Sample[] = [0, 1, 2].map((completionId) => ({
    taskId: "T/0",
    completionId,
    completion: `c${completionId}`,
  }));
  const result = (completionId: number): SampleResult => ({
    taskId: "T/0",
    completionId,
    passed: true,
    verdict: "passed",
    result: "passed",
    executionTimeMs: 1,
  });
  const lines = (path: string) =>
    readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it("has every result as it came, and at the end in the samples' order", () => {
    const path = join(here, "r.jsonl");
    const results = ResultsFile.open(path, samples, false);
    results.add(result(2));
    results.add(result(0));
    expect(lines(path).map(({ completion_id }) => completion_id)).toEqual([2, 0]);
    results.add(result(1));
    expect(results.close()).toEqual([0, 1, 2].map(result));
    expect(lines(path)).toEqual(
      [0, 1, 2].map((id) => ({
        task_id: "T/0",
        completion_id: id,
        completion: `c${id}`,
        result: "passed",
        passed: true,
        verdict: "passed",
        execution_time_ms: 1,
      })),
    );
  });

  it("goes on where it was left, without the half of a line", () => {
    const path = join(here, "r.jsonl");
    ResultsFile.open(path, samples, false).add(result(1));
    appendFileSync(path, '{"task_id":"T/0","comp');
    const again = ResultsFile.open(path, samples, false);
    expect(again.done).toEqual([result(1)]);
    expect(again.rest.map(({ completionId }) => completionId)).toEqual([0, 2]);
    again.add(result(0));
    expect(lines(path).map(({ completion_id }) => completion_id)).toEqual([1, 0]);
    expect(ResultsFile.open(path, samples, true).rest).toHaveLength(3);
  });

  it.each([
    ["another answer", [{ ...samples[0]!, completion: "other" }]],
    ["another task", [{ ...samples[0]!, taskId: "T/1" }]],
  ])("refuses a file with results of %s", (_, others) => {
    const path = join(here, "r.jsonl");
    const first = ResultsFile.open(path, samples, false);
    first.add(result(0));
    first.close();
    expect(() => ResultsFile.open(path, others, false)).toThrow(
      expect.objectContaining({ code: "FILE_EXISTS" }),
    );
  });

  it("refuses one that cannot be written, without a promise about what is in it", () => {
    expect(() => ResultsFile.open(join(here, "none", "r.jsonl"), samples, false)).toThrow(
      expect.objectContaining({
        code: "FILE_FAILED",
        message: "r.jsonl: there is no such directory",
        hint: "Name another file, in a directory that is there.",
      }),
    );
  });

  it("refuses a file that is something else, and leaves it as it is", () => {
    const path = file("notes.txt", "my notes");
    expect(() => ResultsFile.open(path, samples, false)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    expect(readFileSync(path, "utf8")).toBe("my notes\n");
  });
});
