import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { acceleratorName } from "./machine.js";
import type { SuiteResult } from "./matrix.js";
import { type Counts, countCases } from "./results.js";

/** What came of one suite of a cell on one system, the last time that it ran. */
export interface SuiteRecord extends Counts {
  readonly cell: string;
  readonly suite: string;
  readonly system: string;
  /** As uname says: 6.12.95+deb12-cloud-amd64. */
  readonly kernel: string;
  /** 2026-11-20. */
  readonly day: string;
  /** The checkout's; a `+` behind it: with changes. */
  readonly commit: string;
  /** The machine around the virtual one: its kernel, and whether the processor was emulated. */
  readonly host: string;
}

/** What a run adds to each of its records. */
export type RunFacts = Pick<SuiteRecord, "day" | "commit" | "host">;

/** What has to be the same for a record to hold: what runs in a machine. */
const TESTED = ["src", "guest", "packages", "test/attacks", "test/vm/suites", "test/vm/cells.ts"];

export function readRecords(path: string): SuiteRecord[] {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as SuiteRecord[]) : [];
}

/** Puts results in the place of the records of the same suites, and writes them down. */
export function addRecord(path: string, result: SuiteResult, facts: RunFacts): void {
  const { cell, suite, system, kernel, cases } = result;
  const record: SuiteRecord = { cell, suite, system, kernel, ...facts, ...countCases(cases) };
  const others = readRecords(path).filter((each) => keyOf(each) !== keyOf(record));
  const records = [...others, record].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const lines = records.map((each) => `  ${JSON.stringify(each)}`).join(",\n");
  writeFileSync(`${path}.new`, `[\n${lines}\n]\n`);
  renameSync(`${path}.new`, path);
}

/** Has the suite passed on this kernel, with what is tested as it stands now? */
export function isRecorded(
  records: readonly SuiteRecord[],
  { cell, suite, kernel }: Pick<SuiteRecord, "cell" | "suite" | "kernel">,
  isCurrent: (commit: string) => boolean,
): boolean {
  return records.some(
    (each) =>
      each.cell === cell &&
      each.suite === suite &&
      each.kernel.startsWith(`${kernel}.`) &&
      each.failed === 0 &&
      each.passed > 0 &&
      isCurrent(each.commit),
  );
}

/** What of the checkout stands as it did at a commit. */
export function isUnchangedSince(checkout: string, commit: string): boolean {
  if (commit.endsWith("+")) return false;
  try {
    execFileSync("git", ["diff", "--quiet", commit, "--", ...TESTED], { cwd: checkout, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export function factsOf(checkout: string): RunFacts {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: checkout, encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--", ...TESTED) !== "";
  return {
    day: new Date().toISOString().slice(0, 10),
    commit: `${git("rev-parse", "--short=10", "HEAD")}${isChanged ? "+" : ""}`,
    host: `Linux ${/^[\d.]+/.exec(release())?.[0]}, ${acceleratorName()}`,
  };
}

/** The same suite on the same line of kernels, 6.12.95 and 6.12.101, say. */
function keyOf({ cell, suite, system, kernel }: SuiteRecord): string {
  return [system, /^\d+\.\d+/.exec(kernel)?.[0] ?? kernel, cell, suite].join("\n");
}
