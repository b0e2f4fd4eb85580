import { PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";
import { ReadyPool } from "../ready-pool.js";
import { unavailableReason } from "../unavailable-reason.js";

const CODE = "print(1)";

export const poolHit = onBackend("pool-hit", "bubblewrap", 0.5);
export const poolHitDocker = onBackend("pool-hit-docker", "docker", 1);

/** A call that finds a sandbox ready; the time in which the pool makes another one ready is not its own. */
function onBackend(name: string, backend: string, goal: number): Benchmark {
  return {
    name,
    what: `${CODE} in a ${backend} sandbox that the pool has ready, acquire to result`,
    baseline: "bare python3 -c, spawned from Node",
    unit: "ms",
    better: "lower",
    goal,
    unavailable: (bench) => unavailableReason(bench, backend),
    async measure(bench) {
      const pool = new ReadyPool(bench, backend);
      const samples = await interleave(
        bench,
        { rounds: bench.rounds(200), warmUp: 5 },
        async () => {
          await pool.rest();
          return timeMs(async () => {
            const { stdout, stderr } = await pool.manager.execute({ language: "python", code: CODE });
            if (stdout !== "1\n") throw new Error(`it printed ${JSON.stringify(stdout)}: ${stderr}`);
          });
        },
        async () => {
          await pool.rest();
          return timeMs(() => bench.run(PYTHON, ["-c", CODE], { stdout: "1\n" }));
        },
      );
      const { misses } = pool.status;
      return {
        ...samples,
        checks: [{ what: "calls that found none ready", value: misses, unit: "", atMost: 0 }],
      };
    },
  };
}
