import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { findRunsc } from "./gvisor/register-runsc.js";

const run = promisify(execFile);

/** A daemon of this host that only has to be started, or one that runs. */
export function isDockerInstalled(): boolean {
  const programs = ["/usr/bin/dockerd", "/usr/sbin/dockerd", "/usr/local/bin/dockerd", "/usr/bin/podman"];
  return [...programs, "/var/run/docker.sock", "/run/podman/podman.sock"].some((path) => existsSync(path));
}

/** What this host's runsc says of itself, and "runsc" with its version; undefined: there is none, or it says nothing. */
export async function runscVersion(): Promise<{ text: string; name: string } | undefined> {
  const path = findRunsc();
  if (path === undefined) return undefined;
  try {
    const { stdout: text } = await run(path, ["--version"], { timeout: 5000, env: {} });
    return { text, name: `runsc ${/version (\S+)/.exec(text)?.[1] ?? "of unknown version"}` };
  } catch {
    return undefined;
  }
}
