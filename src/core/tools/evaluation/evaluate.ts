import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import type { CellOptions, SandboxManager, ToolCall, ToolResult } from "../../manager/index.js";
import { type Judgement, judge, judgeUnrunnable, type SampleVerdict } from "./judge-sample.js";
import type { Problem, Sample } from "./problems.js";

export interface EvaluationOptions
  extends Pick<ToolCall, "agentId" | "orgId" | "role" | "backend" | "signal"> {
  readonly manager: SandboxManager;
  readonly problems: ReadonlyMap<string, Problem>;
  readonly samples: readonly Sample[];
  /** How many run at once. Default: one per core. */
  readonly workers?: number;
  /** Per sample. Default 3 seconds, as HumanEval's own. */
  readonly timeoutMs?: number;
  /** Per process of a sample. Default 512. */
  readonly memoryMb?: number;
  /** Told in the order in which they end. */
  readonly onResult?: (result: SampleResult) => void;
}

export interface SampleResult {
  readonly taskId: string;
  readonly completionId: number;
  readonly passed: boolean;
  readonly verdict: SampleVerdict;
  /** In HumanEval's own words. */
  readonly result: string;
  readonly executionTimeMs: number;
}

const DEFAULTS = { timeoutMs: 3000, memoryMb: 512 } as const;
/** How much of a sample's output is kept: enough to explain a failure. */
const OUTPUT_BYTES = 4 * 1024 * 1024;
/** What samples import most, loaded ahead. Each sample still sees them as not imported. */
const PRELOAD = [
  "typing",
  "math",
  "re",
  "collections",
  "itertools",
  "functools",
  "string",
  "hashlib",
  "copy",
  "random",
  "heapq",
];

/** Runs every sample with its task's tests, each in a cell of its own. Resolves to one result each, in the samples' order. */
export async function evaluate(options: EvaluationOptions): Promise<SampleResult[]> {
  const { samples, signal, onResult, workers = availableParallelism() } = options;
  checkWorkers(workers);
  const results = new Map<Sample, SampleResult>();
  /** Those whose end may have been another's doing; they run again, one after the other. */
  const doubtful: Sample[] = [];
  const company = new Company();
  const note = (sample: Sample, result: SampleResult) => {
    results.set(sample, result);
    onResult?.(result);
  };
  const queue = samples.values();
  const work = async () => {
    for (const sample of queue) {
      signal?.throwIfAborted();
      const result = await company.beside((hadOthers) => runSample(options, sample, workers, hadOthers));
      if (result === undefined) doubtful.push(sample);
      else note(sample, result);
    }
  };
  await allOrNone(Array.from({ length: Math.min(workers, samples.length) }, work));
  for (const sample of doubtful) {
    signal?.throwIfAborted();
    note(sample, await runAlone(options, sample, workers));
  }
  return samples.map((sample) => results.get(sample)!);
}

/** Knows whether something ran beside something else. */
class Company {
  #running = 0;
  #started = 0;

  /** The action may ask, when it is over, whether others ran at any moment of it. */
  async beside<T>(action: (hadOthers: () => boolean) => Promise<T>): Promise<T> {
    const hadSome = this.#running++ > 0;
    const number = ++this.#started;
    try {
      return await action(() => hadSome || this.#started > number);
    } finally {
      this.#running--;
    }
  }
}

/** Undefined: it was killed for memory, and another sample beside it may have been the reason. */
async function runSample(
  options: EvaluationOptions,
  sample: Sample,
  workers: number,
  hadOthers: () => boolean,
): Promise<SampleResult | undefined> {
  try {
    const { judgement, ended } = await execute(options, sample, workers);
    const isDoubtful = ended?.reason === "memory" && hadOthers();
    return isDoubtful ? undefined : resultOf(sample, judgement, ended);
  } catch (error) {
    if (mayBeAnothers(error)) return undefined;
    throw error;
  }
}

async function runAlone(options: EvaluationOptions, sample: Sample, workers: number): Promise<SampleResult> {
  try {
    const { judgement, ended } = await execute(options, sample, workers);
    return resultOf(sample, judgement, ended);
  } catch (error) {
    if (!mayBeAnothers(error)) throw error;
    const { message } = toSandboxError(error);
    return resultOf(sample, { verdict: "error", result: `failed: ${message}` }, undefined);
  }
}

async function execute(
  { manager, problems, agentId, orgId, role, backend, signal, ...given }: EvaluationOptions,
  sample: Sample,
  workers: number,
): Promise<{ readonly judgement: Judgement; readonly ended: ToolResult | undefined }> {
  const { timeoutMs, memoryMb } = { ...DEFAULTS, ...given };
  const program = composeProgram(problems.get(sample.taskId)!, sample);
  const isolate: CellOptions = { workers, memoryMb, preload: PRELOAD };
  try {
    const ended = await manager.execute({
      agentId,
      orgId,
      role,
      backend,
      signal,
      tool: "run_code",
      language: "python",
      code: program.code,
      isolate,
      timeoutMs,
      maxOutputBytes: OUTPUT_BYTES,
    });
    // Cancelled by the caller, which says nothing about the sample.
    if (ended.reason === "cancelled") signal?.throwIfAborted();
    return { judgement: judge(ended, program.passWord), ended };
  } catch (error) {
    const { code, message } = toSandboxError(error);
    // No call takes a NUL character or too much code. A wrong option is everybody's, and no sample's fault.
    const isSamples =
      code === "FILE_TOO_LARGE" || (code === "INVALID_ARGUMENT" && program.code.includes("\0"));
    if (!isSamples) throw error;
    return { judgement: judgeUnrunnable(message), ended: undefined };
  }
}

function resultOf(
  sample: Sample,
  { verdict, result }: Judgement,
  ended: ToolResult | undefined,
): SampleResult {
  const { taskId, completionId } = sample;
  const executionTimeMs = ended?.executionTimeMs ?? 0;
  return { taskId, completionId, passed: verdict === "passed", verdict, result, executionTimeMs };
}

/** The sandbox that all of them share may have been lost, or full. */
function mayBeAnothers(error: unknown): boolean {
  return ["SANDBOX_LOST", "SANDBOX_NOT_RUNNING", "EXECUTION_FAILED", "WIRE_VIOLATION"].includes(
    toSandboxError(error).code,
  );
}

/** Waits for all of them; the first failure is everybody's. */
async function allOrNone(work: readonly Promise<void>[]): Promise<void> {
  const ended = await Promise.allSettled(work);
  for (const each of ended) if (each.status === "rejected") throw each.reason;
}

function checkWorkers(workers: number): void {
  if (Number.isInteger(workers) && workers >= 1 && workers <= 64) return;
  throw new SandboxError("INVALID_ARGUMENT", "The number of workers must be from 1 to 64", {
    hint: "More workers than cores make nothing faster.",
  });
}

const WORD_BYTES = 16;

interface EvaluatedProgram {
  readonly code: string;
  /** What it says when its tests came to their end: one that leaves earlier has never said it. */
  readonly passWord: string;
}

/** The sample, its tests and the end that only passing leads to, as one program. */
function composeProgram(problem: Problem, sample: Sample): EvaluatedProgram {
  const passWord = randomBytes(WORD_BYTES).toString("hex");
  const answer = sample.solution ?? `${problem.prompt}${sample.completion ?? ""}`;
  // Backwards: a program that prints its own text does not say the word by that.
  const written = `b"\\n${[...passWord].reverse().join("")}\\n"[::-1]`;
  const code = [
    answer,
    problem.test,
    `check(${problem.entry_point})`,
    "import os as _skerry_os",
    `try: _skerry_os.write(2, ${written})`,
    // It may have closed that one.
    `except OSError: _skerry_os.write(1, ${written})`,
    "_skerry_os._exit(0)",
    "",
  ].join("\n");
  return { code, passWord };
}
