import { PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";

const CODE = "1+1";

export const contextRun: Benchmark = {
  name: "context-run",
  what: `${CODE} in a context of Python, library call to result`,
  baseline: "bare python3 -c, spawned from Node",
  unit: "ms",
  better: "lower",
  goal: 0.15,
  async measure(bench) {
    const sandbox = await bench.manager().startSandbox("bench");
    const context = await sandbox.createContext({ language: "python" });
    return interleave(
      bench,
      { rounds: bench.rounds(200), warmUp: 5 },
      () =>
        timeMs(async () => {
          const { results, error } = await context.run(CODE);
          if (results[0]?.data["text/plain"] !== "2") throw new Error(`the context answered ${error}`);
        }),
      () => timeMs(() => bench.run(PYTHON, ["-c", CODE], { stdout: "" })),
    );
  },
};
