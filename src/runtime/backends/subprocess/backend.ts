import { spawn } from "node:child_process";
import { join } from "node:path";
import type {
  BackendContext,
  Capabilities,
  CreateSpec,
  Instance,
  Probe,
  SandboxBackend,
} from "../backend.js";
import { createGuestInstance, hostEnvironment, processFailure, stopGuest } from "../guest-instance.js";
import { findPrebuilt } from "../guest-runtime.js";
import { greetGuest } from "../start-guest.js";

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
    const failed = processFailure(child, "The guest");
    const destroy = () => stopGuest(child, () => child.kill("SIGKILL"));
    try {
      const streams = { toGuest: child.stdin!, fromGuest: child.stdout! };
      const runner = await greetGuest(streams, { signal: spec.signal, failed });
      return createGuestInstance({
        id: spec.id,
        runner,
        guestWorkspace: workspace,
        hostWorkspace: workspace,
        guestRuntime: prebuilt.runners,
        baseEnv: hostEnvironment(workspace),
        destroy,
      });
    } catch (error) {
      await destroy();
      throw error;
    }
  }

  async reap(): Promise<number> {
    return 0;
  }
}
