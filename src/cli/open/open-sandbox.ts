import { randomBytes } from "node:crypto";
import type { Config } from "../../core/config/index.js";
import type { SandboxManager, SandboxManagerOptions } from "../../core/manager/index.js";
import { defined } from "../../kit/defined.js";
import { SandboxError } from "../../kit/errors.js";
import type { Limits } from "../../runtime/backends/index.js";
import type { RunningSandbox } from "../../runtime/sandbox/index.js";
import type { GlobalOptions, SandboxOptions } from "../definition/index.js";

/** Reads the configuration that the command line names. */
export async function readConfig(options: GlobalOptions): Promise<Config> {
  const { loadConfig } = await import("../../core/config/index.js");
  return loadConfig(options.config === undefined ? {} : { path: options.config });
}

/** A manager as configured. The caller disposes of it. */
export async function openManager(options: GlobalOptions & { backend?: string }): Promise<SandboxManager> {
  return createManager(await readConfig(options), options);
}

/** A manager with this configuration and, where given, more. The caller disposes of it. */
export async function createManager(
  config: Config,
  options: { readonly backend?: string },
  more: Omit<SandboxManagerOptions, "config" | "handleSignals" | "backend"> = {},
): Promise<SandboxManager> {
  const { SandboxManager } = await import("../../core/manager/index.js");
  return new SandboxManager({
    ...more,
    config,
    // Ours cancel first, so that a result can still be shown.
    handleSignals: false,
    ...(options.backend !== undefined && { backend: options.backend }),
  });
}

/** The limits that the command line asks for. */
export function limitsOf({ memory, cpus, pids }: SandboxOptions): Limits {
  return defined({ memoryMb: memory, cpus, pids });
}

/** The session's sandbox, or without a session one that is thrown away. */
export function openSandbox(
  manager: SandboxManager,
  options: SandboxOptions,
  signal: AbortSignal,
): Promise<RunningSandbox> {
  const { session } = options;
  return manager.startSandbox(session ?? `cli-${randomBytes(8).toString("hex")}`, {
    ephemeral: session === undefined,
    limits: limitsOf(options),
    signal,
  });
}

/** Refuses a session that does not exist: reading must not create it. */
export function requireSession(manager: SandboxManager, name: string): void {
  if (manager.hasSession(name)) return;
  throw new SandboxError("SESSION_NOT_FOUND", `there is no session ${JSON.stringify(name)}`, {
    hint: "List them with: skerry sessions",
  });
}
