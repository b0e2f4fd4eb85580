import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../setup/clean-up.js";
import { CELLS } from "./cells.js";
import type { CaseResult, SuiteResult } from "./matrix.js";
import { addRecord, factsOf, isRecorded, isUnchangedSince, readRecords } from "./records.js";
import {
  closingLine,
  countCases,
  documentTexts,
  resultSummary,
  resultTable,
  withWritten,
} from "./results.js";

const CASES: readonly CaseResult[] = [
  { title: "works", seconds: 1 },
  { title: "limits", seconds: 0, skip: "no cgroup" },
  { title: "leaves nothing", seconds: 2, error: "cgroup: /sys/fs/cgroup/skerry-1" },
];
const FACTS = { day: "2026-11-20", commit: "0123456789", host: "Linux 6.18, an emulated processor" };
const NEW = "6.12.95+deb12-cloud-amd64";
const OLD = "6.1.0-56-cloud-amd64";
const ended = (cell: string, suite: string, kernel: string, cases = CASES): SuiteResult => ({
  ...{ cell, suite, kernel, cases, seconds: 3 },
  system: "Debian GNU/Linux 12 (bookworm)",
});

/** Records in a file, as a run writes them. */
function recorded(...results: readonly SuiteResult[]) {
  const path = join(temporaryDirectory(), "records.json");
  for (const result of results) addRecord(path, result, FACTS);
  return { path, records: readRecords(path) };
}

it("closes with what passed, failed and was skipped", () => {
  expect(closingLine(countCases(CASES))).toBe("1 passed, 1 failed, 1 skipped");
  expect(closingLine(countCases([]))).toBe("0 passed, 0 failed");
});

it("records each suite with its day, commit and host, and what it came to last", () => {
  const passed = CASES.slice(0, 1);
  const { path, records } = recorded(
    ended("root", "conformance", NEW),
    ended("root", "attacks", NEW),
    ended("root", "conformance", "6.12.101", passed),
  );
  expect(records).toEqual([
    { ...record("attacks", NEW), passed: 1, failed: 1, skipped: 1 },
    { ...record("conformance", "6.12.101"), passed: 1, failed: 0, skipped: 0 },
  ]);
  expect(readFileSync(path, "utf8").split("\n")).toHaveLength(5);
});

function record(suite: string, kernel: string) {
  return { cell: "root", suite, system: "Debian GNU/Linux 12 (bookworm)", kernel, ...FACTS };
}

it("says of each cell and system what came of it, what of it was not run, and when and where it was", () => {
  const all = CELLS.find(({ name }) => name === "swap")!.suites.map(({ name }) => ended("swap", name, OLD));
  const { records } = recorded(ended("root", "conformance", NEW), ...all);
  const lines = resultTable(records).split("\n");
  expect(lines.slice(0, 3)).toEqual([
    "| | Debian GNU/Linux 12 (bookworm), Linux 6.1 | Debian GNU/Linux 12 (bookworm), Linux 6.12 |",
    "|---|---|---|",
    "| root | not run | 1 passed, 1 failed, 1 skipped; not run: command line, attacks |",
  ]);
  expect(lines).toContain("| root, with swap | 2 passed, 2 failed, 2 skipped | not run |");
  expect(lines.at(-1)).toBe("On 2026-11-20, of 0123456789; on Linux 6.18, an emulated processor.");
  expect(resultSummary(records)).toMatch(
    /^In virtual machines: Debian GNU\/Linux 12 \(bookworm\), Linux 6\.1 \(2 of \d+ suites\); .* \(1 of \d+ suites\); 3 tests failed\.$/,
  );
});

it("names a system on which everything passed without a number", () => {
  const whole = CELLS.flatMap(({ name, suites }) =>
    suites.map((suite) => ended(name, suite.name, NEW, CASES.slice(0, 2))),
  );
  expect(resultSummary(recorded(...whole).records)).toBe(
    "In virtual machines: Debian GNU/Linux 12 (bookworm), Linux 6.12; nothing failed.",
  );
});

it("leaves out of a resumed run what has passed on that kernel with the same sources", () => {
  const passed = CASES.slice(0, 2);
  const { records } = recorded(ended("root", "conformance", NEW, passed), ended("root", "attacks", NEW));
  const isLeftOut = (suite: string, kernel: string, isCurrent = true) =>
    isRecorded(records, { cell: "root", suite, kernel }, (commit) => isCurrent && commit === FACTS.commit);
  expect(isLeftOut("conformance", "6.12")).toBe(true);
  expect([
    isLeftOut("conformance", "6.1"),
    isLeftOut("attacks", "6.12"),
    isLeftOut("conformance", "6.12", false),
  ]).toEqual([false, false, false]);
});

it("knows whether what is tested has changed since a commit", () => {
  const { commit, day, host } = factsOf(".");
  expect([day, host]).toEqual([
    expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    expect.stringMatching(/^Linux \d.*, (KVM|an emulated processor)$/),
  ]);
  expect(isUnchangedSince(".", commit)).toBe(!commit.endsWith("+"));
  expect(isUnchangedSince(".", "no-such-commit")).toBe(false);
});

it("writes between the two comments, again and again, and refuses a document without them", () => {
  const document = "before\n<!-- written by npm run test:vm -- --write -->\nold\n<!-- end -->\nafter\n";
  const written = withWritten(document, "new");
  expect(written).toBe(document.replace("old", "new"));
  expect(withWritten(written, "new")).toBe(written);
  expect(() => withWritten("nothing", "new")).toThrow(/has no place/);
});

it("THREAT_MODEL.md and README.md say what is recorded", () => {
  for (const [name, text] of documentTexts(readRecords("test/vm/records.json")))
    expect(withWritten(readFileSync(name, "utf8"), text)).toBe(readFileSync(name, "utf8"));
});
