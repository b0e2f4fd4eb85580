import { readFileSync, writeFileSync } from "node:fs";
import { CELLS } from "./cells.js";
import type { CaseResult } from "./matrix.js";
import type { SuiteRecord } from "./records.js";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function countCases(cases: readonly CaseResult[]): Counts {
  const failed = cases.filter(({ error }) => error !== undefined).length;
  const skipped = cases.filter(({ skip }) => skip !== undefined).length;
  return { passed: cases.length - failed - skipped, failed, skipped };
}

function sumOf(counts: readonly Counts[]): Counts {
  const sum = (field: keyof Counts) => counts.reduce((total, each) => total + each[field], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}

/** As `npm test` closes: `N passed, N failed`, with what was skipped if anything was. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`;
}

/** The records as a Markdown table: a row per caller, a column per system; and what was tested when, and where. */
export function resultTable(records: readonly SuiteRecord[]): string {
  if (records.length === 0) return "No run is recorded yet.";
  const systems = systemsOf(records);
  const rows = CELLS.map((cell) => {
    const columns = systems.map((system) =>
      describeCell(
        cell.suites.map(({ name }) => name),
        records.filter((each) => each.cell === cell.name && systemOf(each) === system),
      ),
    );
    return `| ${[cell.title, ...columns].join(" | ")} |`;
  });
  const table = [`| | ${systems.join(" | ")} |`, `|---|${systems.map(() => "---|").join("")}`, ...rows];
  const values = (field: "day" | "commit" | "host") =>
    [...new Set(records.map((each) => each[field]))].sort();
  const days = values("day");
  const when = days.length === 1 ? `On ${days[0]}` : `Between ${days[0]} and ${days.at(-1)}`;
  const of = `of ${values("commit").join(", ")}; on ${values("host").join("; ")}.`;
  return [...table, "", `${when}, ${of}`].join("\n");
}

/** In one sentence: on which systems everything was tested, and on which a part. */
export function resultSummary(records: readonly SuiteRecord[]): string {
  if (records.length === 0) return "No run in virtual machines is recorded yet.";
  const failed = records.reduce((sum, each) => sum + each.failed, 0);
  const wanted = CELLS.flatMap(({ name, suites }) => suites.map((suite) => `${name} ${suite.name}`));
  const described = systemsOf(records).map((system) => {
    const there = records.filter((each) => systemOf(each) === system);
    const done = wanted.filter((each) => there.some(({ cell, suite }) => `${cell} ${suite}` === each)).length;
    return done === wanted.length ? system : `${system} (${done} of ${wanted.length} suites)`;
  });
  const outcome = failed === 0 ? "nothing failed" : `${failed} tests failed`;
  return `In virtual machines: ${described.join("; ")}; ${outcome}.`;
}

const START = "<!-- written by npm run test:vm -- --write -->\n";

/** A document with that text between the two comments that name this command. */
export function withWritten(document: string, text: string): string {
  const [before, rest] = document.split(START, 2);
  const end = rest?.indexOf("<!-- end -->") ?? -1;
  if (rest === undefined || end < 0) throw new Error("The document has no place for what is written");
  return `${before}${START}${text}\n${rest.slice(end)}`;
}

/** Writes the documents that tell of the records. */
export function writeDocuments(checkout: string, records: readonly SuiteRecord[]): void {
  for (const [name, text] of documentTexts(records)) {
    const path = `${checkout}/${name}`;
    writeFileSync(path, withWritten(readFileSync(path, "utf8"), text));
  }
}

/** What each document says of the records. */
export function documentTexts(records: readonly SuiteRecord[]): [name: string, text: string][] {
  return [
    ["THREAT_MODEL.md", resultTable(records)],
    ["README.md", resultSummary(records)],
  ];
}

function describeCell(suites: readonly string[], records: readonly SuiteRecord[]): string {
  if (records.length === 0) return "not run";
  const missing = suites.filter((name) => !records.some(({ suite }) => suite === name));
  const line = closingLine(sumOf(records));
  return missing.length === 0 ? line : `${line}; not run: ${missing.join(", ")}`;
}

function systemsOf(records: readonly SuiteRecord[]): string[] {
  return [...new Set(records.map(systemOf))].sort();
}

function systemOf({ system, kernel }: SuiteRecord): string {
  return `${system}, Linux ${/^\d+\.\d+/.exec(kernel)?.[0] ?? kernel}`;
}
