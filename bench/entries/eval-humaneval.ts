import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AuditLogger } from "skerry";
import { canonicalSamples, evaluate, loadProblems } from "skerry/eval";
import { PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { forEachOf, HUMANEVAL_PROGRAMS, humanevalFile, slicesOf, withoutHumaneval } from "../humaneval.js";
import { interleave, timeMs } from "../measure.js";

const WORKERS = 2;
const MEMORY_MB = 512;
const SLICES = 4;
const PASSES = 10;

export const evalHumaneval: Benchmark = {
  name: "eval-humaneval",
  what: `\`skerry eval\` of HumanEval's own ${HUMANEVAL_PROGRAMS} solutions, each in its own cell and audited, two workers`,
  baseline: "bare python3 processes, two at a time",
  unit: "programs/s",
  better: "higher",
  goal: 1.5,
  unavailable: withoutHumaneval,
  async measure(bench) {
    const problems = await loadProblems(humanevalFile(bench));
    const audit = new AuditLogger({ directory: join(bench.directory, "audit") });
    const manager = bench.manager({ audit, limits: { memoryMb: WORKERS * MEMORY_MB + 256 } });
    const slices = slicesOf(canonicalSamples(problems), SLICES);
    const files = new Map<string, string>();
    for (const { task_id, prompt, canonical_solution, test, entry_point } of problems.values()) {
      const path = join(bench.directory, `${task_id.replaceAll("/", "-")}.py`);
      await writeFile(path, `${prompt}${canonical_solution}\n${test}\ncheck(${entry_point})\n`);
      files.set(task_id, path);
    }
    const failures = new Set<string>();
    const turns = { ours: 0, baseline: 0 };
    const samples = await interleave(
      bench,
      { rounds: (bench.quick ? 1 : PASSES) * SLICES, warmUp: 1 },
      async () => {
        const slice = slices[turns.ours++ % SLICES]!;
        const ms = await timeMs(async () => {
          const options = { manager, problems, samples: slice, workers: WORKERS, memoryMb: MEMORY_MB };
          for (const { passed, taskId, result } of await evaluate({ ...options, signal: bench.signal }))
            if (!passed) failures.add(`${taskId}: ${result}`);
        });
        return slice.length / (ms / 1000);
      },
      async () => {
        const slice = slices[turns.baseline++ % SLICES]!;
        const ms = await timeMs(() =>
          forEachOf(slice, WORKERS, ({ taskId }) => bench.run(PYTHON, [files.get(taskId)!])),
        );
        return slice.length / (ms / 1000);
      },
    );
    await manager.close();
    await audit.close();
    const [first] = failures;
    const what = first === undefined ? "programs that pass" : `programs that pass (first failure ${first})`;
    return {
      ...samples,
      checks: [{ what, value: problems.size - failures.size, unit: "programs", atLeast: HUMANEVAL_PROGRAMS }],
    };
  },
};
