import { readFileSync, writeFileSync } from "node:fs";
import { CELLS } from "./cells.js";
import type { CaseResult, CellResult } from "./matrix.js";

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

/** As `npm test` closes: `N passed, N failed`, with what was skipped if anything was. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`;
}

/** The results as a Markdown table: a row per caller, a column per system. */
export function resultTable(results: readonly CellResult[]): string {
  const systems = [...new Set(results.map(systemOf))].sort();
  const rows = CELLS.map(({ name, title }) => {
    const cells = systems.map((system) => {
      const found = results.find((each) => each.cell === name && systemOf(each) === system);
      return found === undefined ? "not run" : closingLine(countCases(found.cases));
    });
    return `| ${[title, ...cells].join(" | ")} |`;
  });
  return [`| | ${systems.join(" | ")} |`, `|---|${systems.map(() => "---|").join("")}`, ...rows].join("\n");
}

/** Puts the table between the two comments of a document that name this command. */
export function writeTable(path: string, results: readonly CellResult[]): void {
  const text = readFileSync(path, "utf8");
  const between = /(<!-- written by npm run test:vm -- --write -->\n)[\s\S]*?(<!-- end -->)/;
  if (!between.test(text)) throw new Error(`${path} has no place for the table`);
  writeFileSync(
    path,
    text.replace(between, (_, start, end) => `${start}${resultTable(results)}\n${end}`),
  );
}

function systemOf({ system, kernel }: CellResult): string {
  return `${system}, Linux ${/^[\d.]+/.exec(kernel)?.[0] ?? kernel}`;
}
