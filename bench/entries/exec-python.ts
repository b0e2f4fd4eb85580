import { PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";
import { runPython } from "../python.js";

const CODE = "print(40+2)";

export const execPython: Benchmark = {
  name: "exec-python",
  what: `${CODE} in an existing sandbox, library call to result`,
  baseline: "bare python3 -c, spawned from Node",
  unit: "ms",
  better: "lower",
  goal: 0.3,
  async measure(bench) {
    const sandbox = await bench.manager().startSandbox("bench");
    await sandbox.prewarm("python");
    return interleave(
      bench,
      { rounds: bench.rounds(200), warmUp: 5 },
      () => timeMs(() => runPython(sandbox, CODE, "42\n")),
      () => timeMs(() => bench.run(PYTHON, ["-c", CODE], { stdout: "42\n" })),
    );
  },
};
