import { existsSync } from "node:fs";
import { join } from "node:path";
import { type BenchContext, PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";

const CODE = "print(1)";

export const cliRun: Benchmark = {
  name: "cli-run",
  what: `./skerry run --language python --code '${CODE}' on a set-up machine`,
  baseline: `node -e 0, then python3 -c '${CODE}'`,
  unit: "ms",
  better: "lower",
  goal: 2.5,
  async unavailable(bench) {
    return existsSync(launcher(bench))
      ? undefined
      : "there is no launcher: this is not a clone of the repository";
  },
  async measure(bench) {
    const env = { ...bench.env, SKERRY_STATE_DIR: bench.stateDir };
    const run = ["run", "--language", "python", "--code", CODE];
    return interleave(
      bench,
      { rounds: bench.rounds(50), warmUp: 3 },
      () => timeMs(() => bench.run(launcher(bench), run, { env, stdout: "1\n" })),
      () =>
        timeMs(async () => {
          await bench.run(process.execPath, ["-e", "0"]);
          await bench.run(PYTHON, ["-c", CODE], { stdout: "1\n" });
        }),
    );
  },
};

function launcher(bench: BenchContext): string {
  return join(bench.repository, "skerry");
}
