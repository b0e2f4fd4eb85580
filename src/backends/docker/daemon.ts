import type Docker from "dockerode";
import { addressOf } from "./address.js";
import { ask } from "./ask.js";
import { noDaemon } from "./explain-failure.js";

/** What a daemon says about itself, as far as it decides what we can promise. */
export interface DaemonFacts {
  readonly name: "Docker" | "Podman";
  readonly version: string;
  /** As Node names it. */
  readonly architecture: string;
  /** Reached by a socket of this machine. */
  readonly isLocal: boolean;
  /** Or maps users to others of its machine (userns-remap), which comes to the same. */
  readonly isRootless: boolean;
  /** It runs in a virtual machine of its own, behind a local socket. */
  readonly isDesktop: boolean;
  readonly runtimes: readonly string[];
  readonly cgroupVersion: 1 | 2;
  readonly cgroupDriver: string;
  readonly limits: {
    readonly memory: boolean;
    readonly swap: boolean;
    readonly cpu: boolean;
    readonly pids: boolean;
  };
}

const DEADLINE_MS = 2000;

/** Asks the daemon, which has two seconds: one that hangs is as good as none. */
export async function readDaemonFacts(docker: Docker, isLocal: boolean): Promise<DaemonFacts> {
  const address = addressOf(docker);
  const [version, info] = await ask(
    DEADLINE_MS,
    Promise.all([docker.version() as Promise<VersionAnswer>, docker.info() as Promise<InfoAnswer>]),
    address,
  );
  // A server of something else may say yes to everything.
  if (typeof version?.Version !== "string") throw noDaemon(address);
  return describeDaemon(version, info, isLocal);
}

/** The parts of the answers that we read. A daemon that leaves one out does not have it. */
export interface VersionAnswer {
  readonly Version?: string;
  readonly Arch?: string;
  readonly Components?: readonly { readonly Name?: string; readonly Version?: string }[];
}

export interface InfoAnswer {
  readonly OperatingSystem?: string;
  readonly SecurityOptions?: readonly string[] | null;
  readonly Runtimes?: Readonly<Record<string, unknown>> | null;
  readonly CgroupVersion?: string;
  readonly CgroupDriver?: string;
  readonly MemoryLimit?: boolean;
  readonly SwapLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly PidsLimit?: boolean;
}

export function describeDaemon(version: VersionAnswer, info: InfoAnswer, isLocal: boolean): DaemonFacts {
  const isPodman = version.Components?.some(({ Name }) => Name?.startsWith("Podman")) ?? false;
  const cgroupVersion = info.CgroupVersion === "2" ? 2 : 1;
  return {
    name: isPodman ? "Podman" : "Docker",
    version: version.Version ?? "of unknown version",
    architecture: nodeArchitecture(version.Arch ?? ""),
    isLocal,
    isRootless: info.SecurityOptions?.some((each) => /^name=(rootless|userns)\b/.test(each)) ?? false,
    isDesktop: /docker desktop/i.test(info.OperatingSystem ?? ""),
    runtimes: Object.keys(info.Runtimes ?? {}),
    cgroupVersion,
    cgroupDriver: info.CgroupDriver ?? "cgroupfs",
    limits: {
      memory: info.MemoryLimit === true,
      swap: info.SwapLimit === true,
      cpu: info.CpuCfsQuota === true,
      pids: info.PidsLimit === true,
    },
  };
}

/**
 * Who limits the buffers of sockets: they count as memory, or we do it in the container's cgroup, or nobody does. That a
 * daemon says it can (KernelMemoryTCP) means nothing: runc 1.1.5 was seen to do nothing with it.
 */
export function socketMemory(facts: DaemonFacts, isRoot: boolean): "counted" | "ours" | "unlimited" {
  if (facts.cgroupVersion === 2) return "counted";
  return isRoot && facts.isLocal && !facts.isRootless && !facts.isDesktop ? "ours" : "unlimited";
}

/** "amd64" → "x64": the guest is built under Node's names. */
export function nodeArchitecture(name: string): string {
  return name === "amd64" || name === "x86_64" ? "x64" : name === "aarch64" ? "arm64" : name;
}
