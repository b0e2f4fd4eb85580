import type { GuestConnection } from "../../wire/index.js";
import type { Instance, ResourceUsage, Violation } from "../backend.js";
import type { SandboxCgroup } from "../linux/cgroup/cgroup.js";
import { BASE_ENV, GUEST_RUNTIME, GUEST_WORKSPACE } from "../linux/guest-layout.js";
import type { ViolationLog } from "./violations.js";

export interface SrtInstanceInit {
  readonly id: string;
  readonly runner: GuestConnection;
  readonly hostWorkspace: string;
  readonly directoryUntouched: boolean;
  readonly cgroup: SandboxCgroup | undefined;
  readonly violations: ViolationLog | undefined;
  /** Ends the processes and removes what they stood on. */
  readonly destroy: () => Promise<void>;
}

/** A guest behind sandbox-runtime's walls and ours. */
export class SrtInstance implements Instance {
  readonly id: string;
  readonly runner: GuestConnection;
  readonly guestWorkspace = GUEST_WORKSPACE;
  readonly guestRuntime = GUEST_RUNTIME;
  readonly hostWorkspace: string;
  readonly directoryUntouched: boolean;
  readonly baseEnv = BASE_ENV;
  readonly #init: SrtInstanceInit;
  #destroying: Promise<void> | undefined;

  constructor(init: SrtInstanceInit) {
    this.#init = init;
    this.id = init.id;
    this.runner = init.runner;
    this.hostWorkspace = init.hostWorkspace;
    this.directoryUntouched = init.directoryUntouched;
  }

  async memoryKills(): Promise<number | undefined> {
    return this.#init.cgroup?.memoryKills();
  }

  async usage(): Promise<ResourceUsage | undefined> {
    return this.#init.cgroup?.usage();
  }

  async violations(): Promise<readonly Violation[]> {
    return (await this.#init.violations?.take()) ?? [];
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#destroy();
    return this.#destroying;
  }

  async #destroy(): Promise<void> {
    this.runner.close();
    await this.#init.destroy();
  }
}
