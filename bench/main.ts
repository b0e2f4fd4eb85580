import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { suggestWord } from "../src/kit/closest-word.js";
import { BenchContext } from "./bench-context.js";
import type { Benchmark } from "./benchmark.js";
import { ENTRIES } from "./entries/index.js";
import { createResult, createSkip, formatTable, Progress, type Result } from "./report.js";

const USAGE = `usage: skerry bench [NAME…] [--json] [--list] [--quick]

Measures the figures we claim on this machine, each beside its baseline.

  --json    print an array of results instead of a table
  --list    print the names and what they measure
  --quick   few rounds: a rough look, not a verdict`;

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Resolves to the exit status: 0 when every goal was reached, 1 when one was missed, 64 for a wrong command line. */
export async function runBenchmarks(argv: string[]): Promise<number> {
  const options = parse(argv);
  if ("problem" in options) {
    process.stderr.write(`skerry bench: ${options.problem}\n`);
    return 64;
  }
  if (options.help || options.list) {
    process.stdout.write(`${options.help ? USAGE : list()}\n`);
    return 0;
  }
  const interruption = new AbortController();
  let status: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    // A second Ctrl-C does not wait for the cleaning up.
    if (status !== undefined) process.exit(status);
    status = SIGNALS[signal as keyof typeof SIGNALS];
    interruption.abort(new Error(`interrupted by ${signal}`));
  };
  for (const signal of Object.keys(SIGNALS)) process.on(signal, onSignal);
  try {
    const results = await measureAll(options.entries, options.quick, interruption.signal);
    if (status !== undefined) return status;
    process.stdout.write(`${options.json ? JSON.stringify(results, null, 2) : formatTable(results)}\n`);
    return results.some(({ ok }) => ok === false) ? 1 : 0;
  } finally {
    for (const signal of Object.keys(SIGNALS)) process.off(signal, onSignal);
  }
}

interface Options {
  readonly entries: readonly Benchmark[];
  readonly json: boolean;
  readonly list: boolean;
  readonly quick: boolean;
  readonly help: boolean;
}

function parse(argv: string[]): Options | { readonly problem: string } {
  const flag = { type: "boolean", default: false } as const;
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { json: flag, list: flag, quick: flag, help: { ...flag, short: "h" } },
    });
    const unknown = positionals.find((name) => !ENTRIES.some((entry) => entry.name === name));
    if (unknown !== undefined) {
      const names = ENTRIES.map(({ name }) => name);
      const hint = suggestWord(unknown, names, "Known benchmarks");
      return { problem: `there is no benchmark named ${JSON.stringify(unknown)}\nhint: ${hint}` };
    }
    const entries = ENTRIES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
    return { entries, ...values };
  } catch (error) {
    return { problem: `${(error as Error).message}\n${USAGE}` };
  }
}

function list(): string {
  const width = Math.max(...ENTRIES.map(({ name }) => name.length));
  return ENTRIES.map(({ name, what, baseline, better, goal }) => {
    const bound = goal === null ? "" : better === "lower" ? `at most ${goal} × ` : `at least ${goal} × `;
    return `${name.padEnd(width)}  ${what}; ${bound}${baseline}`;
  }).join("\n");
}

async function measureAll(
  entries: readonly Benchmark[],
  quick: boolean,
  signal: AbortSignal,
): Promise<Result[]> {
  const progress = new Progress(process.stderr);
  const results: Result[] = [];
  for (const entry of entries) {
    if (signal.aborted) break;
    const onProgress = (done: number, total: number) => progress.show(entry.name, done, total);
    const result = await measureOne(entry, { quick, signal, onProgress });
    if (signal.aborted) {
      progress.finish(`${entry.name}: ${(signal.reason as Error).message}`);
      break;
    }
    const verdict = result.error ?? result.skipped ?? `ratio ${result.ratio}`;
    progress.finish(`${entry.name}: ${verdict}`);
    results.push(result);
  }
  return results;
}

/** A failure is a result too: the other figures are still wanted. */
async function measureOne(
  entry: Benchmark,
  options: Parameters<typeof BenchContext.open>[0],
): Promise<Result> {
  const bench = await BenchContext.open(options);
  try {
    const reason = await entry.unavailable?.(bench);
    if (reason !== undefined) return createSkip(entry, { skipped: reason });
    return createResult(entry, await entry.measure(bench));
  } catch (error) {
    return createSkip(entry, { error: error instanceof Error ? error.message : String(error) });
  } finally {
    await bench.close();
  }
}

function isMain(): boolean {
  const script = process.argv[1];
  return script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url);
}

if (isMain()) process.exitCode = await runBenchmarks(process.argv.slice(2));
