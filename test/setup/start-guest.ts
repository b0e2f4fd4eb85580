import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSubprocessBackend } from "../../src/runtime/backends/subprocess/backend.js";
import type { Inside } from "../../src/runtime/sandbox/guest-files/run-inside.js";

export interface StartedGuest extends Inside {
  stop(): Promise<void>;
}

/** A real guest over `<directory>/workspace`, with these scripts in front of the programs it has. */
export async function startGuest(
  directory: string,
  programs: Readonly<Record<string, string>>,
): Promise<StartedGuest> {
  const bin = join(directory, "bin");
  mkdirSync(bin, { recursive: true });
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(bin, name), script, { mode: 0o755 });
  const backend = createSubprocessBackend({ stateDir: directory, options: undefined });
  const instance = await backend.create({
    id: "sbx-test",
    sessionKey: "test",
    ephemeral: true,
    directory: { path: directory },
    limits: {},
    requestedLimits: {},
    filesystem: { allowRead: [], allowWrite: [], denyRead: [], denyWrite: [] },
  });
  const { runner, guestWorkspace, baseEnv } = instance;
  return {
    runner,
    guestWorkspace,
    baseEnv: { ...baseEnv, PATH: `${bin}:${baseEnv["PATH"]}` },
    stop: () => instance.destroy(),
  };
}
