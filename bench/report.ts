import type { Benchmark, Check, Samples } from "./benchmark.js";
import { type Summary, summarize } from "./measure.js";

/** One line of the report; the shape of `--json`. */
export interface Result {
  readonly name: string;
  readonly what: string;
  readonly ours: (Summary & { readonly unit: string }) | null;
  readonly baseline: (Summary & { readonly what: string }) | null;
  readonly ratio: number | null;
  readonly goal: number | null;
  readonly better: "lower" | "higher";
  /** Null when it was not measured. */
  readonly ok: boolean | null;
  readonly checks?: readonly (Check & { readonly ok: boolean })[];
  /** Why it was not measured. */
  readonly skipped?: string;
  /** Why it could not be measured, though it should have been. */
  readonly error?: string;
}

/** Compares what was measured with what was claimed. */
export function createResult(entry: Benchmark, samples: Samples): Result {
  const ours = summarize(samples.ours, entry.better);
  const baseline = summarize(samples.baseline, entry.better);
  const ratio = ours.p50 / baseline.p50;
  const reached =
    entry.goal === null || (entry.better === "lower" ? ratio <= entry.goal : ratio >= entry.goal);
  const checks = (samples.checks ?? []).map((check) => ({
    ...check,
    value: round(check.value),
    ok: holds(check),
  }));
  return {
    name: entry.name,
    what: entry.what,
    ours: { ...rounded(ours), unit: entry.unit },
    baseline: { what: entry.baseline, ...rounded(baseline) },
    ratio: round(ratio),
    goal: entry.goal,
    better: entry.better,
    ok: reached && checks.every((check) => check.ok),
    ...(checks.length > 0 && { checks }),
  };
}

export function createSkip(
  entry: Benchmark,
  why: { readonly skipped: string } | { readonly error: string },
): Result {
  const { name, what, goal, better } = entry;
  const ok = "skipped" in why ? null : false;
  return { name, what, ours: null, baseline: null, ratio: null, goal, better, ok, ...why };
}

function holds({ value, atMost, atLeast }: Check): boolean {
  return value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY);
}

function rounded(summary: Summary): Summary {
  return { p50: round(summary.p50), p99: round(summary.p99), n: summary.n };
}

/** Four significant digits: more would be noise. */
function round(value: number): number {
  return Number(value.toPrecision(4));
}

const HEAD = ["name", "ours p50", "p99", "n", "baseline p50", "p99", "n", "ratio", "goal", ""];
const LEFT_COLUMNS = new Set([0, 9]);

/** For people: one line per figure, with the conditions and reasons below it. */
export function formatTable(results: readonly Result[]): string {
  const rows = [HEAD, ...results.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        LEFT_COLUMNS.has(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join("  ")
      .trimEnd(),
  );
  const body = results.flatMap((result, index) => [lines[index + 1]!, ...notes(result)]);
  return [lines[0]!, ...body].join("\n");
}

function cells({ name, ours, baseline, ratio, goal, better, ok }: Result): string[] {
  const bound = goal === null ? "-" : `${better === "lower" ? "≤" : "≥"} ${goal}`;
  const verdict = ok === null ? "skipped" : ok ? "ok" : "MISSED";
  if (ours === null || baseline === null || ratio === null) {
    return [name, "-", "-", "-", "-", "-", "-", "-", bound, verdict];
  }
  const unit = (value: number) => `${value} ${ours.unit}`;
  return [
    name,
    unit(ours.p50),
    unit(ours.p99),
    String(ours.n),
    unit(baseline.p50),
    unit(baseline.p99),
    String(baseline.n),
    String(ratio),
    bound,
    verdict,
  ];
}

function notes({ checks = [], skipped, error }: Result): string[] {
  const lines = checks.map(({ what, value, unit, atMost, atLeast, ok }) => {
    const bound = atMost === undefined ? `≥ ${atLeast}` : `≤ ${atMost}`;
    return `  ${what}: ${value} ${unit} (${bound}) ${ok ? "ok" : "MISSED"}`;
  });
  if (skipped !== undefined) lines.push(`  skipped: ${skipped}`);
  if (error !== undefined) lines.push(`  failed: ${error}`);
  return lines;
}

/** Says on standard error how far we are; on a terminal in one line that changes. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  #line = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  show(name: string, done: number, total: number): void {
    if (!this.#stream.isTTY) return;
    this.#clear();
    this.#line = `${name} ${done}/${total}`;
    this.#stream.write(this.#line);
  }

  finish(text: string): void {
    this.#clear();
    this.#stream.write(`${text}\n`);
  }

  #clear(): void {
    if (this.#line !== "") this.#stream.write(`\r${" ".repeat(this.#line.length)}\r`);
    this.#line = "";
  }
}
