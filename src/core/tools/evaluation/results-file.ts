import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { z } from "zod";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { SampleResult } from "./evaluate.js";
import { parseLine } from "./json-lines.js";
import { SAMPLE_VERDICTS } from "./judge-sample.js";
import type { Sample } from "./problems.js";

const rowSchema = z.object({
  task_id: z.string(),
  completion_id: z.number(),
  completion: z.string().optional(),
  solution: z.string().optional(),
  result: z.string(),
  passed: z.boolean(),
  verdict: z.enum(SAMPLE_VERDICTS),
  execution_time_ms: z.number(),
});

/**
 * Results in HumanEval's own form: a line per sample, with `result` and `passed`. Each is written as it comes, so that an
 * interrupted evaluation goes on where it was; at the end they stand in the samples' order.
 */
export class ResultsFile {
  readonly #path: string;
  readonly #samples: ReadonlyMap<string, Sample>;
  readonly #done = new Map<string, SampleResult>();
  #fd: number | undefined;

  private constructor(path: string, samples: readonly Sample[]) {
    this.#path = path;
    this.#samples = new Map(samples.map((sample) => [nameOf(sample), sample]));
  }

  /** Reads what is there of these samples; results of other samples are refused. `restart`: what is there does not count. */
  static open(path: string, samples: readonly Sample[], restart: boolean): ResultsFile {
    const file = new ResultsFile(path, samples);
    try {
      if (!restart && existsSync(path)) file.#read();
      file.#fd = openSync(path, restart ? "w" : "a", 0o644);
      // A killed process may have left half a line.
      if (!restart) file.#write([...file.#done.values()]);
      return file;
    } catch (error) {
      throw whenUnwritable(error, path, "Name another file, in a directory that is there.");
    }
  }

  /** What was known before. */
  get done(): readonly SampleResult[] {
    return [...this.#done.values()];
  }

  /** The samples that are still to be run. */
  get rest(): Sample[] {
    return [...this.#samples].filter(([name]) => !this.#done.has(name)).map(([, sample]) => sample);
  }

  add(result: SampleResult): void {
    this.#done.set(nameOf(result), result);
    try {
      writeSync(this.#fd!, this.#lineOf(result));
    } catch (error) {
      throw whenUnwritable(error, this.#path);
    }
  }

  /** All that is known, in the samples' order. */
  close(): SampleResult[] {
    const results = [...this.#samples.keys()].flatMap((name) => this.#done.get(name) ?? []);
    try {
      this.#write(results);
      if (this.#fd !== undefined) closeSync(this.#fd);
      this.#fd = undefined;
    } catch (error) {
      throw whenUnwritable(error, this.#path);
    }
    return results;
  }

  /** Whole or not at all. */
  #write(results: readonly SampleResult[]): void {
    const unfinished = `${this.#path}.${process.pid}`;
    const fd = openSync(unfinished, "w", 0o644);
    try {
      for (const result of results) writeSync(fd, this.#lineOf(result));
      renameSync(unfinished, this.#path);
    } catch (error) {
      rmSync(unfinished, { force: true });
      closeSync(fd);
      throw error;
    }
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = fd;
  }

  #read(): void {
    const lines = readFileSync(this.#path, "utf8").split("\n");
    // The last line has no end: it may be incomplete.
    lines.pop();
    for (const [index, line] of lines.entries()) {
      const row = parseLine(line, rowSchema, `${escapeUnsafe(basename(this.#path))}, line ${index + 1}`);
      const result: SampleResult = {
        taskId: row.task_id,
        completionId: row.completion_id,
        passed: row.passed,
        verdict: row.verdict,
        result: row.result,
        executionTimeMs: row.execution_time_ms,
      };
      const sample = this.#samples.get(nameOf(result));
      if (sample?.completion !== row.completion || sample?.solution !== row.solution)
        throw ofOthers(this.#path);
      this.#done.set(nameOf(result), result);
    }
  }

  #lineOf(result: SampleResult): string {
    const { completion, solution } = this.#samples.get(nameOf(result))!;
    const row: z.infer<typeof rowSchema> = {
      task_id: result.taskId,
      completion_id: result.completionId,
      ...(completion !== undefined && { completion }),
      ...(solution !== undefined && { solution }),
      result: result.result,
      passed: result.passed,
      verdict: result.verdict,
      execution_time_ms: result.executionTimeMs,
    };
    return `${JSON.stringify(row)}\n`;
  }
}

function nameOf({ taskId, completionId }: Pick<Sample, "taskId" | "completionId">): string {
  return `${completionId} ${taskId}`;
}

function ofOthers(path: string): SandboxError {
  return new SandboxError("FILE_EXISTS", `${escapeUnsafe(basename(path))} has results of other samples`, {
    hint: "Name another file, or restart, which overwrites it.",
  });
}

const WHY: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  ENOENT: "there is no such directory",
  EACCES: "it may not be written",
  EISDIR: "it is a directory",
};
const GOES_ON = "What was written is kept: the same command continues there.";

function whenUnwritable(error: unknown, path: string, hint = GOES_ON): SandboxError {
  if (error instanceof SandboxError) return error;
  const why = WHY[systemCode(error) ?? ""] ?? systemCode(error) ?? "it cannot be written";
  const code = systemCode(error) === "ENOSPC" ? "DISK_FULL" : "FILE_FAILED";
  return new SandboxError(code, `${escapeUnsafe(basename(path))}: ${why}`, { hint, cause: error });
}
