import type { Probe } from "../backend.js";
import type { DockerAddress } from "./daemon/address.js";

/** A container runtime with a kernel of its own between a container and the host's. */
export interface KernelRuntime {
  /** What people call it. */
  readonly title: string;
  /** Of its own on the host, for one container: so that no sandbox can take them all. */
  readonly hostThreads: number;
  /**
   * With which the guest separates itself from what it runs. They are rights within that kernel alone, and gone before
   * anything of a program runs.
   */
  readonly guestCapabilities: readonly string[];
  /** Has the guest take the place of root within that kernel, and refuse any other. */
  guestArguments(user: { readonly uid: number; readonly gid: number }): string[];
  /** It does not apply the daemon's profile: the guest loads this, compiled, before anything else runs. */
  loadFilter(architecture: string): Promise<Buffer>;
  /** How a daemon of this host gets a runtime that it lacks; undefined: as any other. */
  remedyFor(runtime: string, daemon: DockerAddress): string | undefined;
  /** What is installed on this host. */
  inspect(): Promise<InstalledRuntime>;
}

export interface InstalledRuntime {
  /** Its name and version; undefined: there is none, or it says nothing. */
  readonly version?: string;
  /** What its users would otherwise find out by themselves. */
  readonly problems: Probe["problems"];
}
