import { type BenchContext, PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { percentile, timeMs } from "../measure.js";
import { ServerProcess } from "../server-process.js";

const CODE = "print(40+2)";
const CLIENTS = 16;
const BARE_AT_ONCE = 2;
/** Both sides in turn, so that other work on the machine falls on both; ours for a minute in all. */
const SLICES = 12;
const SLICE_MS = 5000;
const BARE_SLICE_MS = 2500;
const MAX_TAIL = 8;

export const httpLoad: Benchmark = {
  name: "http-load",
  what: `${CODE} by ${CLIENTS} clients of a server for a minute, each in a warm session of its own`,
  baseline: `bare python3 -c, ${BARE_AT_ONCE} at a time`,
  unit: "programs/s",
  better: "higher",
  goal: 2,
  async measure(bench) {
    await using server = await ServerProcess.start(bench);
    const latencies: number[] = [];
    let errors = 0;
    const ask = (client: number) => server.runPython(`client-${client}`, CODE, "42\n");
    for (let round = 0; round < 20; round++)
      await Promise.all(Array.from({ length: CLIENTS }, (_, client) => ask(client)));
    const load = (client: number) =>
      timeMs(() => ask(client)).then(
        (ms) => void latencies.push(ms),
        () => void errors++,
      );
    const bare = () => bench.run(PYTHON, ["-c", CODE], { stdout: "42\n" });
    const samples = { ours: [] as number[], baseline: [] as number[] };
    const slices = bench.rounds(SLICES);
    for (let slice = 0; slice < slices; slice++) {
      samples.ours.push(await perSecond(bench, CLIENTS, SLICE_MS, load));
      samples.baseline.push(await perSecond(bench, BARE_AT_ONCE, BARE_SLICE_MS, bare));
      bench.progress(slice + 1, slices);
    }
    const tail = percentile(latencies, 0.99) / percentile(latencies, 0.5);
    return {
      ...samples,
      checks: [
        { what: "errors", value: errors, unit: "", atMost: 0 },
        { what: "a caller's wait, p99 / p50", value: tail, unit: "", atMost: MAX_TAIL },
      ],
    };
  },
};

/** How many get done by so many workers in that time. */
async function perSecond(
  bench: BenchContext,
  workers: number,
  ms: number,
  work: (worker: number) => Promise<void>,
): Promise<number> {
  const startedAt = performance.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      while (performance.now() - startedAt < ms) {
        bench.signal.throwIfAborted();
        await work(worker);
        done++;
      }
    }),
  );
  return (done * 1000) / (performance.now() - startedAt);
}
