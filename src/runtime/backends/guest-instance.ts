import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import type { GuestConnection } from "../wire/index.js";
import type { Instance } from "./backend.js";
import type { SandboxCgroup } from "./linux/cgroup/cgroup.js";

/** What a backend knows of a sandbox that it has started. */
export interface GuestInstanceParts extends Omit<Instance, "runner" | "memoryKills" | "usage"> {
  readonly runner: GuestConnection;
  /** Left out: nothing counts what the sandbox uses. */
  readonly cgroup?: SandboxCgroup | undefined;
  /** Ends the processes and removes what they stood on. Called once, after the wire is closed. */
  destroy(): Promise<void>;
}

/** A sandbox with our guest in it. */
export function createGuestInstance({ cgroup, destroy, ...parts }: GuestInstanceParts): Instance {
  let destroying: Promise<void> | undefined;
  return {
    ...parts,
    memoryKills: async () => cgroup?.memoryKills(),
    usage: async () => cgroup?.usage(),
    destroy: () => {
      parts.runner.close();
      destroying ??= destroy();
      return destroying;
    },
  };
}

/** The environment of programs that see this host's paths. */
export function hostEnvironment(workspace: string): Readonly<Record<string, string>> {
  return {
    PATH: `/usr/local/bin:/usr/bin:/bin:${dirname(process.execPath)}`,
    HOME: workspace,
    LANG: "C.UTF-8",
  };
}

/** Closing the wire makes a guest end what it runs and leave; a guest that does not is killed. */
export async function stopGuest(
  child: ChildProcess,
  kill: (pid: number) => void,
  graceMs = 5000,
): Promise<void> {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.stdin?.destroy();
  const timer = setTimeout(() => {
    try {
      kill(pid);
    } catch (error) {
      // ESRCH: it has ended, and its exit is about to be told. Any other error is the caller's, by `exited`.
      if (systemCode(error) !== "ESRCH") child.emit("error", error);
    }
  }, graceMs);
  await exited;
  clearTimeout(timer);
}

/** Why a process that was to become a sandbox did not, in its name. */
export function processFailure(child: ChildProcess, name: string): Promise<SandboxError> {
  const failed = (message: string, cause?: unknown) =>
    new SandboxError("SANDBOX_START_FAILED", `${name} ${message}`, { cause });
  return new Promise((resolve) => {
    // A later error, such as a signal that cannot be sent, must not end this process either.
    child.on("error", (cause) => resolve(failed("cannot be started", cause)));
    child.once("exit", (status) => resolve(failed(`ended with status ${status}`)));
  });
}
