import { spawn } from "node:child_process";
import { once } from "node:events";
import type { RunningSandbox } from "skerry/manager";
import type { BenchContext } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";
import { watchMemory } from "../process-memory.js";

const MIB = 1024 * 1024;
const BYTES = 1024 * MIB;
const COMMAND = ["head", "-c", String(BYTES), "/dev/zero"] as const;
const MAX_GROWTH_MIB = 64;

export const output1Gib: Benchmark = {
  name: "output-1gib",
  what: "1 GiB of output, streamed and discarded by the caller",
  baseline: "the same head -c spawned from Node, its pipe read and discarded",
  unit: "MiB/s",
  better: "higher",
  goal: 0.3,
  async measure(bench) {
    const sandbox = await bench.manager().startSandbox("bench");
    const growths: number[] = [];
    const speed = async (discard: () => Promise<number>) => {
      const ms = await timeMs(async () => {
        const bytes = await discard();
        if (bytes !== BYTES) throw new Error(`${bytes} bytes arrived instead of ${BYTES}`);
      });
      return BYTES / MIB / (ms / 1000);
    };
    const samples = await interleave(
      bench,
      { rounds: bench.rounds(10), warmUp: 1 },
      () => watchMemory(growths, () => speed(() => discardOurs(sandbox, bench))),
      () => speed(() => discardBare(bench)),
    );
    const growth = {
      what: "growth of this process's memory while it streams, at most",
      value: Math.max(...growths) / MIB,
      unit: "MiB",
      atMost: MAX_GROWTH_MIB,
    };
    return { ...samples, checks: [growth] };
  },
};

async function discardOurs(sandbox: RunningSandbox, bench: BenchContext): Promise<number> {
  let bytes = 0;
  for await (const event of sandbox.exec(COMMAND, { signal: bench.signal })) {
    if (event.type === "stdout") bytes += event.data.length;
    else if (event.type === "exit" && !event.result.success)
      throw new Error(`head failed: ${event.result.error}`);
  }
  return bytes;
}

async function discardBare(bench: BenchContext): Promise<number> {
  const [program, ...args] = COMMAND;
  const child = spawn(program, args, {
    env: bench.env,
    stdio: ["ignore", "pipe", "inherit"],
    signal: bench.signal,
  });
  let bytes = 0;
  child.stdout.on("data", (data: Buffer) => {
    bytes += data.length;
  });
  await once(child, "close");
  return bytes;
}
