import { randomBytes } from "node:crypto";
import type { Config } from "../config/index.js";
import { SandboxError } from "../errors.js";
import type { SandboxManager } from "../manager/index.js";
import type { Sandbox } from "../sandbox/index.js";
import type { GlobalOptions, SandboxOptions } from "./program.js";

/** Reads the configuration that the command line names. */
export async function readConfig(options: GlobalOptions): Promise<Config> {
  const { loadConfig } = await import("../config/load.js");
  return loadConfig(options.config === undefined ? {} : { path: options.config });
}

/** A manager as configured. The caller disposes of it. */
export async function openManager(options: GlobalOptions & { backend?: string }): Promise<SandboxManager> {
  const [config, { SandboxManager }] = await Promise.all([
    readConfig(options),
    import("../manager/index.js"),
  ]);
  // Ours cancel first, so that a result can still be shown.
  return new SandboxManager({
    config,
    handleSignals: false,
    ...(options.backend !== undefined && { backend: options.backend }),
  });
}

/** The session's sandbox, or without a session one that is thrown away. */
export function openSandbox(
  manager: SandboxManager,
  options: SandboxOptions,
  signal: AbortSignal,
): Promise<Sandbox> {
  const { session, memory, cpus, pids } = options;
  const limits = {
    ...(memory !== undefined && { memoryMb: memory }),
    ...(cpus !== undefined && { cpus }),
    ...(pids !== undefined && { pids }),
  };
  return manager.getSandbox(session ?? `cli-${randomBytes(8).toString("hex")}`, {
    ephemeral: session === undefined,
    limits,
    signal,
  });
}

/** Refuses a session that nobody has made: looking at it must not make it. */
export function requireSession(manager: SandboxManager, name: string): void {
  if (manager.hasSession(name)) return;
  throw new SandboxError("SESSION_NOT_FOUND", `there is no session ${JSON.stringify(name)}`, {
    hint: "List them with: skerry sessions",
  });
}
