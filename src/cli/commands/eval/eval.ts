import { availableParallelism } from "node:os";
import type { Config } from "../../../core/config/index.js";
import { chooseBackend } from "../../../core/manager/index.js";
import {
  canonicalSamples,
  type EvaluationSummary,
  evaluate,
  loadProblems,
  loadSamples,
  ResultsFile,
  type SampleResult,
  summarise,
} from "../../../core/tools/index.js";
import type { Paint } from "../../../guard/confirmation/index.js";
import { toSandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { stateDirectoryOf } from "../../../kit/state-directory.js";
import type { GuardOptions } from "../../definition/index.js";
import { Interrupt } from "../../input/index.js";
import { identityOf, openGuardedManager, readConfig } from "../../open/index.js";
import { formatTable, jsonText, paintFor, stderr, stdout } from "../../output/index.js";
import { ProgressBar } from "./progress-bar.js";

export interface EvalOptions extends GuardOptions {
  readonly samples?: string;
  readonly output?: string;
  readonly restart?: boolean;
  readonly workers?: number;
  readonly timeout?: number;
  readonly memory?: number;
  readonly failures?: number;
  readonly json?: boolean;
}

/** The one with cells. */
const BACKEND = "bubblewrap";
const MEMORY_MB = 512;
/** For the interpreter that forks, and for what cells have of files. */
const SPARE_MB = 256;
const LISTED_FAILURES = 20;

/** `skerry eval`. */
export async function evaluateFile([file]: readonly string[], options: EvalOptions): Promise<number> {
  const problems = await loadProblems(file!);
  const samples =
    options.samples === undefined ? canonicalSamples(problems) : await loadSamples(options.samples, problems);
  const path =
    options.output ?? (options.samples === undefined ? undefined : `${options.samples}_results.jsonl`);
  const results = path === undefined ? undefined : ResultsFile.open(path, samples, options.restart === true);
  const before = results?.done ?? [];
  if (before.length > 0) {
    await tell(options, `${before.length} of ${samples.length} were done before; --restart starts over`);
  }
  const startedAt = performance.now();
  const found: SampleResult[] = [];
  const rest = results?.rest ?? samples;
  let all: readonly SampleResult[] = found;
  let interrupted: number | undefined;
  try {
    interrupted = await runRest(options, { problems, samples: rest, total: samples.length }, (each) => {
      results?.add(each);
      found.push(each);
    });
  } finally {
    if (results !== undefined) all = results.close();
  }
  const notRun = samples.length - all.length;
  await report(options, all, {
    ...summarise(all),
    notRun,
    seconds: (performance.now() - startedAt) / 1000,
    evaluated: found.length,
    ...(path !== undefined && { results: path }),
  });
  if (interrupted !== undefined) {
    const next =
      path === undefined
        ? "nothing is kept; name a file with --output, and the same command continues there"
        : "the same command continues there";
    await tell(options, `interrupted after ${all.length} of ${samples.length}: ${next}`);
  }
  return interrupted ?? 0;
}

interface EvaluationInput {
  readonly problems: Awaited<ReturnType<typeof loadProblems>>;
  readonly samples: Awaited<ReturnType<typeof loadSamples>>;
  readonly total: number;
}

/** Undefined: all of them were run; otherwise the exit status of the interruption. */
async function runRest(
  options: EvalOptions,
  { problems, samples, total }: EvaluationInput,
  take: (result: SampleResult) => void,
): Promise<number | undefined> {
  if (samples.length === 0) return undefined;
  using interrupt = new Interrupt();
  const config = await readConfig(options);
  const workers = options.workers ?? availableParallelism();
  const memoryMb = options.memory ?? MEMORY_MB;
  const { output: _, samples: __, memory: ___, ...guards } = options;
  // A default limit never refuses a run: each process keeps to its own limit in any case.
  const isLimited = options.memory !== undefined || (await canLimitMemory(config));
  await using guarded = await openGuardedManager(config, {
    ...guards,
    ...(isLimited && { memory: workers * memoryMb + SPARE_MB }),
    backend: BACKEND,
  });
  const bar = new ProgressBar(stderr, total, total - samples.length);
  let passed = 0;
  let done = 0;
  try {
    await evaluate({
      ...identityOf(config, options),
      manager: guarded.manager,
      problems,
      samples,
      workers,
      memoryMb,
      ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
      signal: interrupt.signal,
      onResult: (result) => {
        take(result);
        done++;
        if (result.passed) passed++;
        bar.advance(`${((passed / done) * 100).toFixed(1)} % passed`);
      },
    });
    return undefined;
  } catch (error) {
    if (interrupt.status === undefined || toSandboxError(error).code !== "CANCELLED") throw error;
    return interrupt.status;
  } finally {
    bar.clear();
  }
}

async function canLimitMemory({ sandbox }: Config): Promise<boolean> {
  const stateDir = stateDirectoryOf(sandbox);
  const { probe } = await chooseBackend(BACKEND, stateDir, sandbox);
  return probe.capabilities.memoryLimit;
}

interface Report extends EvaluationSummary {
  /** Samples without a result, because it was interrupted. */
  readonly notRun: number;
  readonly seconds: number;
  readonly evaluated: number;
  readonly results?: string;
}

async function report(
  options: EvalOptions,
  results: readonly SampleResult[],
  summary: Report,
): Promise<void> {
  const failed = results.filter(({ passed }) => !passed);
  if (options.json) {
    await stdout.write(`${jsonText({ ...summary, seconds: round(summary.seconds), failures: failed })}\n`);
    return;
  }
  const paint = paintFor(stdout, options.color);
  await stdout.write(failuresText(failed, options.failures ?? LISTED_FAILURES, paint));
  await stdout.write(summaryText(summary, paint));
}

function failuresText(failed: readonly SampleResult[], most: number, paint: Paint): string {
  if (failed.length === 0) return "";
  const rows = failed
    .slice(0, most)
    .map(({ taskId, completionId, verdict, result }) => [
      paint("red", verdict),
      escapeUnsafe(completionId === 0 ? taskId : `${taskId} (${completionId})`),
      escapeUnsafe(result.replace(/^failed: /, "")),
    ]);
  const more = failed.length > most ? `… and ${failed.length - most} more\n` : "";
  return `${formatTable(rows)}${more}\n`;
}

function summaryText(summary: Report, paint: Paint): string {
  const { passAt, tasks, samples, notRun, passed, verdicts, seconds, evaluated, results } = summary;
  const endings = Object.entries(verdicts).map(([verdict, count]) => `${count} ${verdict}`);
  const rate = evaluated > 0 ? `, ${(evaluated / seconds).toFixed(1)} per second` : "";
  const isComplete = passed === samples && notRun === 0;
  return formatTable([
    ["samples", `${samples} of ${tasks} tasks`],
    ...(notRun === 0 ? [] : [["not run", paint("yellow", `${notRun} more samples`)]]),
    ["passed", paint(isComplete ? "green" : "yellow", `${passed} of ${samples}`)],
    ...Object.entries(passAt).map(([k, chance]) => [`pass@${k}`, `${(chance * 100).toFixed(1)} %`]),
    ["endings", endings.join(", ")],
    ["time", `${seconds.toFixed(1)} s${rate}`],
    ...(results === undefined ? [] : [["results", escapeUnsafe(results)]]),
  ]);
}

async function tell({ json }: EvalOptions, text: string): Promise<void> {
  if (!json) await stderr.write(`skerry: ${text}\n`);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
