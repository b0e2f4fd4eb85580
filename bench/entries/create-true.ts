import { existsSync, lstatSync, readlinkSync } from "node:fs";
import type { SandboxManager } from "skerry";
import type { BenchContext } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";

const BWRAP = "/usr/bin/bwrap";

export const createTrue: Benchmark = {
  name: "create-true",
  what: "create a sandbox to first `true` done, no pool",
  baseline: "raw bwrap … true, spawned from Node",
  unit: "ms",
  better: "lower",
  goal: 2,
  async unavailable() {
    return existsSync(BWRAP) ? undefined : `there is no ${BWRAP}: apt-get install bubblewrap`;
  },
  async measure(bench) {
    const manager = bench.manager({ backend: "bubblewrap" });
    const raw = bubblewrapArguments();
    return interleave(
      bench,
      { rounds: bench.rounds(200), warmUp: 5 },
      () => createAndRunTrue(bench, manager),
      () => timeMs(() => bench.run(BWRAP, raw)),
    );
  },
};

/** Destroying the sandbox is not part of the time, but done before the next sample. */
async function createAndRunTrue(bench: BenchContext, manager: SandboxManager): Promise<number> {
  const startedAt = performance.now();
  const sandbox = await manager.startSandbox("bench", { ephemeral: true, signal: bench.signal });
  try {
    const result = await sandbox.exec(["true"]);
    if (!result.success) throw new Error(`true failed: ${result.error}`);
    return performance.now() - startedAt;
  } finally {
    await sandbox.stop();
  }
}

/** What a person would type for the same kind of view: the system read-only, and the rest fresh. */
function bubblewrapArguments(): string[] {
  const links = ["/bin", "/sbin", "/lib", "/lib64"].filter((path) => existsSync(path));
  return [
    ...["--unshare-all", "--die-with-parent", "--new-session"],
    ...["--ro-bind", "/usr", "/usr"],
    ...links.flatMap((path) =>
      lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path],
    ),
    ...["--ro-bind", "/etc", "/etc"],
    ...[
      "--proc",
      "/proc",
      "--dev",
      "/dev",
      "--tmpfs",
      "/tmp",
      "--tmpfs",
      "/workspace",
      "--chdir",
      "/workspace",
    ],
    "true",
  ];
}
