import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { SandboxError } from "../../../kit/errors.js";
import type { GuestConnection } from "../../wire/index.js";
import type { CreateSpec, Instance, Violation } from "../backend.js";
import type { GuestRuntime } from "../guest-runtime.js";
import { workspacePath } from "../linux/workspace/workspace-mount.js";
import { greetGuest } from "../start-guest.js";
import { enterCgroups } from "./enter-cgroups.js";
import type { HostRequest } from "./host-request.js";
import { RunDirectory } from "./run-directory.js";
import type { SrtRuntime } from "./srt-package.js";
import { loadUserSettings, type UserSettings } from "./user-settings.js";
import { ViolationLog } from "./violations.js";

const START_TIMEOUT_MS = 20_000;

/** Where people's and other programs' files are. */
const HIDDEN = [
  "/Users",
  "/Volumes",
  "/private/tmp",
  "/private/var",
  "/private/etc",
  "/opt",
  "/Network",
  "/home",
];

/** Seatbelt knows no second view of the files: programs see the host's paths, and the library's walls are the only ones. */
export async function createOnMac(
  spec: CreateSpec,
  runtime: SrtRuntime,
  guest: GuestRuntime,
  paths: { readonly stateDir: string; readonly settingsPath: string },
): Promise<Instance> {
  const own = await loadUserSettings(paths.settingsPath);
  const directory = await RunDirectory.create({
    ...paths,
    id: spec.id,
    owner: undefined,
    createRequest: () => macOrders(spec, runtime, guest, own),
  });
  let child: ChildProcess | undefined;
  let violations: ViolationLog | undefined;
  const destroy = async () => {
    if (child !== undefined) await stop(child);
    violations?.close();
    await directory.remove();
  };
  try {
    violations = await ViolationLog.open(directory.path);
    child = spawn(process.execPath, [runtime.program, "--args", "3", "--", directory.path], {
      stdio: ["pipe", "pipe", "ignore", "ignore", "ignore"],
      env: {},
      cwd: "/",
      detached: true,
    });
    const failed = startFailure(child);
    const streams = { toGuest: child.stdin!, fromGuest: child.stdout! };
    await enterCgroups(streams, { entryFiles: [], failed, signal: spec.signal });
    const runner = await greetGuest(streams, { timeoutMs: START_TIMEOUT_MS, signal: spec.signal, failed });
    return new MacInstance(spec, runner, guest, violations, destroy);
  } catch (error) {
    await destroy();
    throw error;
  }
}

/** What the library is told: the workspace and the shared paths, programs to run, no network but the loopback. */
export function macOrders(
  spec: CreateSpec,
  runtime: SrtRuntime,
  guest: GuestRuntime,
  own: UserSettings,
): HostRequest {
  const { openFiles, fileSizeMb } = spec.limits;
  const { filesystem } = spec;
  const workspace = workspacePath(spec);
  return {
    settings: {
      network: { allowedDomains: [], deniedDomains: [], allowLocalBinding: true },
      filesystem: {
        denyRead: [...HIDDEN, ...filesystem.denyRead, ...own.denyRead],
        allowRead: [workspace, guest.directory, runtime.directory, ...filesystem.allowRead],
        allowWrite: [workspace, ...filesystem.allowWrite],
        denyWrite: [...filesystem.denyWrite],
      },
      ignoreViolations: own.ignoreViolations,
      allowPty: true,
    },
    command: `exec '${guest.guest}'`,
    ...(openFiles !== undefined && { openFiles }),
    ...(fileSizeMb !== undefined && { fileSizeMb }),
    // The library reads the system's log: nothing is told but what was refused.
    writable: [],
  };
}

class MacInstance implements Instance {
  readonly id: string;
  readonly runner: GuestConnection;
  readonly guestWorkspace: string;
  readonly hostWorkspace: string;
  readonly guestRuntime: string;
  readonly baseEnv: Readonly<Record<string, string>>;
  readonly #violations: ViolationLog;
  readonly #remove: () => Promise<void>;
  #destroying: Promise<void> | undefined;

  constructor(
    spec: CreateSpec,
    runner: GuestConnection,
    guest: GuestRuntime,
    violations: ViolationLog,
    remove: () => Promise<void>,
  ) {
    const workspace = workspacePath(spec);
    this.id = spec.id;
    this.runner = runner;
    this.guestWorkspace = this.hostWorkspace = workspace;
    this.guestRuntime = guest.directory;
    this.baseEnv = {
      PATH: `/usr/local/bin:/usr/bin:/bin:${dirname(process.execPath)}`,
      HOME: workspace,
      TMPDIR: workspace,
      LANG: "C.UTF-8",
    };
    this.#violations = violations;
    this.#remove = remove;
  }

  async memoryKills(): Promise<undefined> {
    return undefined;
  }

  violations(): Promise<readonly Violation[]> {
    return this.#violations.take();
  }

  destroy(): Promise<void> {
    this.runner.close();
    this.#destroying ??= this.#remove();
    return this.#destroying;
  }
}

/** Closing the wire makes the guest leave, and the host process after it; one that does not is killed with its group. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.stdin?.destroy();
  const timer = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), 5000);
  await exited;
  clearTimeout(timer);
}

function startFailure(child: ChildProcess): Promise<SandboxError> {
  return new Promise((resolve) => {
    // Also what comes later, such as a signal that cannot be sent, is no reason for this process to end.
    child.on("error", (cause) =>
      resolve(new SandboxError("SANDBOX_START_FAILED", "sandbox-runtime cannot be started", { cause })),
    );
    child.once("exit", (status) =>
      resolve(new SandboxError("SANDBOX_START_FAILED", `sandbox-runtime ended with status ${status}`)),
    );
  });
}
