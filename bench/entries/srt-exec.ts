import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { SandboxManager } from "@anthropic-ai/sandbox-runtime";
import { getBackend } from "skerry/backend";
import type { BenchContext } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";

type Srt = typeof SandboxManager;

export const srtExec: Benchmark = {
  name: "srt-exec",
  what: "`true` in a running sandbox of the srt backend, through the guest",
  baseline: "sandbox-runtime's own wrap and spawn of `true`",
  unit: "ms",
  better: "lower",
  goal: 0.1,
  async unavailable(bench) {
    const backend = await getBackend("srt", { stateDir: bench.stateDir, options: undefined });
    const { available, problems } = await backend.probe();
    if (!available) return `${problems[0]?.what}: ${problems[0]?.remedy}`;
    // Ours does without; sandbox-runtime by itself does not start without them.
    const missing = ["socat", "rg"].filter((name) => !existsSync(`/usr/bin/${name}`));
    return missing.length === 0
      ? undefined
      : `there is no ${missing.join(", no ")}: apt-get install socat ripgrep`;
  },
  async measure(bench) {
    const sandbox = await bench.manager({ backend: "srt" }).startSandbox("bench", { ephemeral: true });
    const { SandboxManager: srt } = await import("@anthropic-ai/sandbox-runtime");
    const before = process.cwd();
    // It searches its working directory before every command: a small one is the kindest to it.
    process.chdir(bench.directory);
    try {
      await srt.initialize({
        network: { allowedDomains: [], deniedDomains: [] },
        filesystem: { denyRead: [], allowWrite: [bench.directory], denyWrite: [] },
      });
      return await interleave(
        bench,
        { rounds: bench.rounds(200), warmUp: 5 },
        () =>
          timeMs(async () => {
            const result = await sandbox.exec(["true"]);
            if (!result.success) throw new Error(`true failed: ${result.error}`);
          }),
        () => timeMs(() => wrapAndSpawn(bench, srt)),
      );
    } finally {
      await srt.reset();
      process.chdir(before);
    }
  },
};

/** As its own command line does it for every command. */
async function wrapAndSpawn(bench: BenchContext, srt: Srt): Promise<void> {
  const command = await srt.wrapWithSandbox("true");
  const child = spawn(command, { shell: true, stdio: "ignore", cwd: bench.directory, env: bench.env });
  const status = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  srt.cleanupAfterCommand();
  if (status !== 0) throw new Error(`sandbox-runtime ended with ${status}`);
}
