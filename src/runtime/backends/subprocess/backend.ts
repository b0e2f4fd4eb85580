import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { SandboxError } from "../../../kit/errors.js";
import type { GuestConnection } from "../../wire/index.js";
import type {
  BackendContext,
  Capabilities,
  CreateSpec,
  Instance,
  Probe,
  SandboxBackend,
} from "../backend.js";
import { findPrebuilt } from "../guest-runtime.js";
import { greetGuest } from "../start-guest.js";

const START_TIMEOUT_MS = 20_000;

const CAPABILITIES: Capabilities = {
  isolates: false,
  network: "all-or-nothing",
  memoryLimit: false,
  cpuLimit: false,
  pidsLimit: false,
  fileSizeLimit: false,
  openFilesLimit: false,
  workspaceLimit: false,
  terminal: true,
  sharedWorkspace: true,
  diesWithHost: true,
};

export interface SubprocessOptions {
  /** Another build of the guest, for tests. */
  readonly guestPath?: string;
}

/** No walls at all: programs run as this user on this host. For development, and for code known to be inert. */
export function createSubprocessBackend(context: BackendContext): SandboxBackend {
  return new SubprocessBackend((context.options ?? {}) as SubprocessOptions);
}

class SubprocessBackend implements SandboxBackend {
  readonly name = "subprocess";
  readonly #options: SubprocessOptions;

  constructor(options: SubprocessOptions) {
    this.#options = options;
  }

  async probe(): Promise<Probe> {
    const warning = {
      what: "subprocess does not isolate",
      remedy: "Use bubblewrap for code you do not trust.",
    };
    return { available: process.platform === "linux", problems: [warning], capabilities: CAPABILITIES };
  }

  async create(spec: CreateSpec): Promise<Instance> {
    const prebuilt = findPrebuilt();
    const workspace = join(spec.directory.path, "workspace");
    const guest = this.#options.guestPath ?? prebuilt.guest;
    // A group of its own, so that a Ctrl-C on our terminal reaches us only.
    const child = spawn(guest, [], {
      stdio: ["pipe", "pipe", "ignore"],
      env: {},
      cwd: workspace,
      detached: true,
    });
    const failed = new Promise<SandboxError>((resolve) => {
      child.once("error", (cause) =>
        resolve(new SandboxError("SANDBOX_START_FAILED", "The guest cannot be started", { cause })),
      );
      child.once("exit", (code) =>
        resolve(new SandboxError("SANDBOX_START_FAILED", `The guest ended with status ${code}`)),
      );
    });
    try {
      const runner = await greetGuest(
        { toGuest: child.stdin!, fromGuest: child.stdout! },
        { timeoutMs: START_TIMEOUT_MS, signal: spec.signal, failed },
      );
      return new SubprocessInstance(spec.id, workspace, child, runner, prebuilt.runners);
    } catch (error) {
      await stop(child);
      throw error;
    }
  }

  async reap(): Promise<number> {
    return 0;
  }
}

class SubprocessInstance implements Instance {
  readonly id: string;
  readonly runner: GuestConnection;
  readonly guestWorkspace: string;
  readonly hostWorkspace: string;
  readonly guestRuntime: string;
  readonly baseEnv: Readonly<Record<string, string>>;
  readonly #child: ChildProcess;

  constructor(id: string, workspace: string, child: ChildProcess, runner: GuestConnection, runners: string) {
    this.id = id;
    this.runner = runner;
    this.#child = child;
    this.guestWorkspace = this.hostWorkspace = workspace;
    this.guestRuntime = runners;
    this.baseEnv = {
      PATH: `/usr/local/bin:/usr/bin:/bin:${dirname(process.execPath)}`,
      HOME: workspace,
      LANG: "C.UTF-8",
    };
  }

  async memoryKills(): Promise<undefined> {
    return undefined;
  }

  async destroy(): Promise<void> {
    this.runner.close();
    await stop(this.#child);
  }
}

/** Closing the wire makes the guest kill what it runs and leave; a guest that does not is killed. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.stdin?.destroy();
  const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
  await exited;
  clearTimeout(timer);
}
