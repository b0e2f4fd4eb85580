import type { RunningSandbox } from "skerry/manager";
import type { BenchContext } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { percentile } from "../measure.js";
import { privateMemoryBelow } from "../process-memory.js";

const COUNT = 200;
/** How many of the first and of the last creations are compared. */
const ENDS = 10;
const MAX_MEMORY_MIB = 4;
const MIB = 1024 * 1024;

export const idle200: Benchmark = {
  name: "idle-200",
  what: `${COUNT} idle sandboxes at once: creating the last ${ENDS} of them`,
  baseline: `creating the first ${ENDS}`,
  unit: "ms",
  better: "lower",
  goal: 1.5,
  async unavailable() {
    return process.getuid?.() === 0 ? undefined : "only root may read how much memory a sandbox has";
  },
  async measure(bench) {
    const count = bench.quick ? 2 * ENDS : COUNT;
    const manager = bench.manager({ warm: false });
    const create = (name: string) => manager.startSandbox(name, { ephemeral: true, signal: bench.signal });
    // What is made once per machine and process is not a cost of the first sandbox.
    await (await create("warm-up")).stop();
    const sandboxes: RunningSandbox[] = [];
    const times: number[] = [];
    for (let index = 0; index < count; index++) {
      bench.signal.throwIfAborted();
      const startedAt = performance.now();
      sandboxes.push(await create(`idle-${index}`));
      times.push(performance.now() - startedAt);
      bench.progress(index + 1, count);
    }
    const answered = await countAnswers(bench, sandboxes);
    const memory = await privateMemoryBelow(process.pid, "bwrap");
    return {
      ours: times.slice(-ENDS),
      baseline: times.slice(0, ENDS),
      checks: [
        { what: "sandboxes that answer", value: answered, unit: "", atLeast: count },
        { what: "sandboxes whose memory was read", value: memory.length, unit: "", atLeast: count },
        {
          what: "private memory of a sandbox, p99",
          value: percentile(memory, 0.99) / MIB,
          unit: "MiB",
          atMost: MAX_MEMORY_MIB,
        },
      ],
    };
  },
};

async function countAnswers(bench: BenchContext, sandboxes: readonly RunningSandbox[]): Promise<number> {
  let answered = 0;
  for (const [index, sandbox] of sandboxes.entries()) {
    bench.signal.throwIfAborted();
    const { stdout } = await sandbox.exec(["echo", String(index)]);
    if (stdout === `${index}\n`) answered++;
  }
  return answered;
}
