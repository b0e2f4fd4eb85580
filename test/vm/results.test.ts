import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { CaseResult, CellResult } from "./matrix.js";
import { closingLine, countCases, resultTable, writeTable } from "./results.js";

const CASES: readonly CaseResult[] = [
  { suite: "conformance", title: "works", seconds: 1 },
  { suite: "conformance", title: "limits", seconds: 0, skip: "no cgroup" },
  { suite: "leaks", title: "leaves nothing", seconds: 2, error: "cgroup: /sys/fs/cgroup/skerry-1" },
];
const machine = (cell: string, kernel: string): CellResult => ({
  ...{ cell, kernel, cases: CASES, seconds: 3 },
  system: "Debian GNU/Linux 12 (bookworm)",
});
const RESULTS = [machine("root", "6.12.95+deb12-cloud-amd64"), machine("swap", "6.1.0-56-cloud-amd64")];

it("closes with what passed, failed and was skipped", () => {
  expect(closingLine(countCases(CASES))).toBe("1 passed, 1 failed, 1 skipped");
  expect(closingLine(countCases([]))).toBe("0 passed, 0 failed");
});

it("says of each cell and system what came of it, or that it was not run", () => {
  const lines = resultTable(RESULTS).split("\n");
  expect(lines.slice(0, 3)).toEqual([
    "| | Debian GNU/Linux 12 (bookworm), Linux 6.1.0 | Debian GNU/Linux 12 (bookworm), Linux 6.12.95 |",
    "|---|---|---|",
    "| root | not run | 1 passed, 1 failed, 1 skipped |",
  ]);
  expect(lines).toContain("| root, with swap | 1 passed, 1 failed, 1 skipped | not run |");
});

it("writes the table between its comments, again and again, and refuses a document without them", () => {
  const directory = mkdtempSync("/tmp/skerry-vm-results-");
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [document, other] = [join(directory, "document.md"), join(directory, "other.md")];
  writeFileSync(
    document,
    "before\n<!-- written by npm run test:vm -- --write -->\nold\n<!-- end -->\nafter\n",
  );
  writeFileSync(other, "nothing");
  for (const _ of [1, 2]) writeTable(document, RESULTS);
  expect(readFileSync(document, "utf8")).toBe(
    `before\n<!-- written by npm run test:vm -- --write -->\n${resultTable(RESULTS)}\n<!-- end -->\nafter\n`,
  );
  expect(() => writeTable(other, RESULTS)).toThrow(/has no place for the table/);
});
