import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { SandboxManager } from "skerry";
import { type BenchContext, PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { forEachOf, HUMANEVAL_PROGRAMS, humanevalFile, slicesOf, withoutHumaneval } from "../humaneval.js";
import { interleave, timeMs } from "../measure.js";

const AT_ONCE = 2;
/** A sample is one slice, not the whole set. */
const SLICES = 8;
const PASSES = 5;

interface Program {
  readonly name: string;
  readonly code: string;
  /** Where the baseline finds it. */
  readonly path: string;
}

export const humanevalFresh: Benchmark = {
  name: "humaneval-fresh",
  what: `the ${HUMANEVAL_PROGRAMS} programs of HumanEval, each in its own fresh sandbox, two at a time`,
  baseline: "bare python3 processes, two at a time",
  unit: "programs/s",
  better: "higher",
  goal: 0.6,
  unavailable: withoutHumaneval,
  async measure(bench) {
    const programs = await loadPrograms(bench);
    const manager = bench.manager();
    const failures = new Set<string>();
    const slices = slicesOf(programs, SLICES);
    // Each side goes through the slices in the same order, so both run every program equally often.
    const throughput = (run: (program: Program) => Promise<void>) => {
      let next = 0;
      return async () => {
        const slice = slices[next++ % SLICES]!;
        const ms = await timeMs(() => forEachOf(slice, AT_ONCE, run));
        return slice.length / (ms / 1000);
      };
    };
    const passes = bench.quick ? 1 : PASSES;
    const samples = await interleave(
      bench,
      { rounds: passes * SLICES, warmUp: 0 },
      throughput((program) => runOurs(bench, manager, program, failures)),
      throughput((program) => bench.run(PYTHON, [program.path])),
    );
    const passed = programs.length - failures.size;
    const first = [...failures][0];
    const what = first === undefined ? "programs that pass" : `programs that pass (first failure ${first})`;
    return { ...samples, checks: [{ what, value: passed, unit: "programs", atLeast: HUMANEVAL_PROGRAMS }] };
  },
};

async function runOurs(
  bench: BenchContext,
  manager: SandboxManager,
  program: Program,
  failures: Set<string>,
): Promise<void> {
  bench.signal.throwIfAborted();
  const result = await manager.runCodeOnce(program.code, { language: "python", signal: bench.signal });
  if (!result.success) failures.add(`${program.name}: ${result.error}`);
}

async function loadPrograms(bench: BenchContext): Promise<Program[]> {
  const text = gunzipSync(await readFile(humanevalFile(bench))).toString("utf8");
  const tasks = text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Task);
  const programs = tasks.map((task) => ({
    name: task.task_id,
    code: `${task.prompt}${task.canonical_solution}\n${task.test}\ncheck(${task.entry_point})\n`,
    path: join(bench.directory, `${task.task_id.replaceAll("/", "-")}.py`),
  }));
  for (const { path, code } of programs) await writeFile(path, code);
  return programs;
}

interface Task {
  readonly task_id: string;
  readonly prompt: string;
  readonly canonical_solution: string;
  readonly test: string;
  readonly entry_point: string;
}
