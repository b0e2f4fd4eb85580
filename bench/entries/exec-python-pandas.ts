import { PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";
import { missingModules, runPython } from "../python.js";

const MODULES = ["numpy", "pandas"];
const CODE = "import numpy, pandas\nprint(pandas.Series(numpy.arange(10)).sum())";

export const execPythonPandas: Benchmark = {
  name: "exec-python-pandas",
  what: "a sum with pandas in an existing sandbox that preloads numpy and pandas",
  baseline: "bare python3 -c with the same imports, spawned from Node",
  unit: "ms",
  better: "lower",
  goal: 0.02,
  unavailable: (bench) => missingModules(bench, MODULES),
  async measure(bench) {
    const config = await bench.config({ languages: { python: { preload: MODULES } } });
    const sandbox = await bench.manager({ config }).startSandbox("bench");
    await sandbox.prewarm("python");
    return interleave(
      bench,
      { rounds: bench.rounds(30), warmUp: 2 },
      () => timeMs(() => runPython(sandbox, CODE, "45\n")),
      () => timeMs(() => bench.run(PYTHON, ["-c", CODE], { stdout: "45\n" })),
    );
  },
};
