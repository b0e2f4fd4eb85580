import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Probe } from "../backend.js";
import type { InstalledRuntime } from "../containers/kernel-runtime.js";
import { findRunsc } from "./register-runsc.js";

/** gVisor of that age refuses what `ls` and `stat` of today's systems ask for. */
const OLDEST_RUNSC = "20230501";

const run = promisify(execFile);

/** What this host's runsc says of itself. */
export async function inspectRunsc(): Promise<InstalledRuntime> {
  const path = findRunsc();
  if (path === undefined) return { problems: [] };
  try {
    const { stdout } = await run(path, ["--version"], { timeout: 5000, env: {} });
    const version = `runsc ${/version (\S+)/.exec(stdout)?.[1] ?? "of unknown version"}`;
    return { version, problems: gapsOf(stdout) };
  } catch {
    return { problems: [] };
  }
}

/** What a runsc lacks, by what it says of its version. */
export function gapsOf(version: string): Probe["problems"] {
  const release = /(?:release-|~)(\d{8})/.exec(version)?.[1];
  if (release === undefined || release >= OLDEST_RUNSC) return [];
  return [
    {
      what: `ls and stat of coreutils 9 (Debian 12) fail with EINVAL, "Invalid argument", under runsc ${release}`,
      remedy: "Install a newer one from gVisor's own packages.",
    },
  ];
}
