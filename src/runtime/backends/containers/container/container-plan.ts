import type { ContainerCreateOptions, HostConfig } from "dockerode";
import type { CreateSpec } from "../../backend.js";
import type { DaemonFacts } from "../daemon/daemon-facts.js";
import type { KernelRuntime } from "../kernel-runtime.js";
import type { PodmanFiles } from "./podman/podman-files.js";

/** What one container is made from, besides what the sandbox itself asks for. */
export interface ContainerPlan {
  readonly spec: CreateSpec;
  readonly stateDir: string;
  readonly facts: DaemonFacts;
  readonly runtime: string | undefined;
  /** Processes inside are none of the host's. Undefined: the kernel is the host's. */
  readonly ownKernel: (KernelRuntime & { readonly filter: Buffer }) | undefined;
  readonly networkMode: string;
  readonly image: string;
  /** Directories for which the image wants volumes of its own, which nothing would limit. */
  readonly imageVolumes: readonly string[];
  readonly user: { readonly uid: number; readonly gid: number };
  readonly guest: GuestMount;
  /** A directory of this host; undefined: memory of the container's own. */
  readonly workspace: string | undefined;
  /** Files of ours over the daemon's and the image's, by their path inside. */
  readonly files: Readonly<Record<string, string>>;
  /** For a container beside the sandbox's first one: what it is for. */
  readonly part?: string;
  /** What a Podman needs of this host. */
  readonly podman?: PodmanFiles;
}

/** Where the guest comes from: a directory that the daemon sees, or a volume of the daemon's. */
export type GuestMount =
  | { readonly kind: "directory"; readonly path: string; readonly program: string }
  | { readonly kind: "volume"; readonly name: string; readonly program: string };

/** Docker's own types lack one of its settings. */
export type ContainerOptions = ContainerCreateOptions & {
  readonly HostConfig: HostConfig & { readonly CgroupnsMode: string };
};
