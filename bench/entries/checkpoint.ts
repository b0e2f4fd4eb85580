import type { CodeContext } from "skerry/manager";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";
import { missingModules } from "../python.js";

/** 25 million numbers of 8 bytes. */
const BUILD = `
import numpy, pandas
df = pandas.DataFrame(numpy.random.default_rng(7).standard_normal((2_500_000, 10)))
df.size`;
const LOSE = "df = None";
const CHECK = "float(df.iloc[0, 0]), df.memory_usage(index=False).sum() // 1_000_000";

export const checkpoint: Benchmark = {
  name: "checkpoint",
  what: "checkpoint and rollback of a context that holds a DataFrame of 200 MB",
  baseline: "running the code again that built it, in a context that has imported pandas before",
  unit: "ms",
  better: "lower",
  goal: 0.05,
  unavailable: (bench) => missingModules(bench, ["numpy", "pandas"]),
  async measure(bench) {
    const manager = bench.manager({ limits: { memoryMb: 3072 } });
    const sandbox = await manager.startSandbox("bench");
    const [saved, built] = await Promise.all([sandbox.createContext(), sandbox.createContext()]);
    await expectValue(built, BUILD, "25000000");
    await expectValue(saved, BUILD, "25000000");
    const value = String((await saved.run(CHECK)).results.at(-1)?.data["text/plain"]);
    if (!value.endsWith(", 200)")) throw new Error(`it is not 200 MB: ${value}`);
    const samples = await interleave(
      bench,
      { rounds: bench.rounds(30), warmUp: 2 },
      async () => {
        const began = performance.now();
        const save = await saved.checkpoint();
        const savedMs = performance.now() - began;
        await saved.run(LOSE);
        const ms = await timeMs(() => saved.rollback(save));
        await expectValue(saved, CHECK, value);
        await saved.deleteCheckpoint(save);
        return savedMs + ms;
      },
      () => timeMs(() => expectValue(built, BUILD, "25000000")),
    );
    return samples;
  },
};

async function expectValue(context: CodeContext, code: string, value: string): Promise<void> {
  const { results, error, stderr } = await context.run(code);
  const shown = results.at(-1)?.data["text/plain"];
  if (shown !== value) throw new Error(`the context answered ${String(shown)} ${error ?? ""} ${stderr}`);
}
