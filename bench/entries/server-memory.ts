import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark } from "../benchmark.js";
import { ServerProcess } from "../server-process.js";

const CODE = "print(40+2)";
const CLIENTS = 4;
const WARM_UP = 2000;
const EXECUTIONS = 20_000;
const MAX_IDLE_MIB = 150;
const MIB = 1024 * 1024;
/** What is collected is given back a little later. */
const SETTLE_MS = 5000;
const LOOKS = 5;

export const serverMemory: Benchmark = {
  name: "server-memory",
  what: `resident memory of a server after ${EXECUTIONS} more executions`,
  baseline: `the same server after its first ${WARM_UP}`,
  unit: "MiB",
  better: "lower",
  goal: 1.1,
  async measure(bench) {
    await using server = await ServerProcess.start(bench);
    const look = async () => {
      await sleep(SETTLE_MS, undefined, { signal: bench.signal });
      const seen: number[] = [];
      for (let each = 0; each < LOOKS; each++) {
        seen.push(server.residentBytes / MIB);
        await sleep(200, undefined, { signal: bench.signal });
      }
      return seen;
    };
    const idle = await look();
    const [warmUp, executions] = [bench.rounds(WARM_UP), bench.rounds(EXECUTIONS)];
    let done = 0;
    const useUntil = (end: number) =>
      Promise.all(
        Array.from({ length: CLIENTS }, async (_, client) => {
          while (done < end) {
            bench.signal.throwIfAborted();
            done++;
            await server.runPython(`client-${client}`, CODE, "42\n");
            if (done % 100 === 0) bench.progress(done, warmUp + executions);
          }
        }),
      );
    await useUntil(warmUp);
    const baseline = await look();
    await useUntil(warmUp + executions);
    return {
      ours: await look(),
      baseline,
      checks: [{ what: "idle", value: Math.max(...idle), unit: "MiB", atMost: MAX_IDLE_MIB }],
    };
  },
};
