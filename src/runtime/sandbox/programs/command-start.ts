import type { Instance } from "../../backends/index.js";
import type { SandboxNetwork } from "../network/network.js";

/** What every command starts from: its environment, and the directory it is in. */
export class CommandStart {
  /** Until the network's part of it changes. */
  #known: { readonly network: object; readonly all: Readonly<Record<string, string>> } | undefined;

  constructor(
    private readonly instance: Instance,
    private readonly network: SandboxNetwork,
  ) {}

  get environment(): Readonly<Record<string, string>> {
    const { environment } = this.network;
    if (this.#known?.network !== environment) {
      this.#known = { network: environment, all: { ...this.instance.baseEnv, ...environment } };
    }
    return this.#known.all;
  }

  /** Relative ones start at the workspace. */
  directory(cwd: string | undefined): string {
    const workspace = this.instance.guestWorkspace;
    if (cwd === undefined || cwd === "") return workspace;
    return cwd.startsWith("/") ? cwd : `${workspace}/${cwd}`;
  }
}
