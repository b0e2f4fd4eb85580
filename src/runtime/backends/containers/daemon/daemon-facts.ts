import { basename } from "node:path";
import type Docker from "dockerode";
import { addressOf } from "./address.js";
import { callDaemon } from "./call-daemon.js";
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
  /** What containers get that ask for none. */
  readonly defaultRuntime: string;
  readonly cgroupVersion: 1 | 2;
  readonly cgroupDriver: string;
  readonly limits: {
    readonly memory: boolean;
    readonly swap: boolean;
    readonly cpu: boolean;
    readonly pids: boolean;
    /** Of open files and of a file's size. */
    readonly ulimits: boolean;
  };
}

const DEADLINE_MS = 2000;
/** Podman starts other programs to find out about itself. */
const FACTS_DEADLINE_MS = 10_000;

/** Asks the daemon, which has two seconds to say anything: one that hangs is as good as none. */
export async function readDaemonFacts(docker: Docker, isLocal: boolean): Promise<DaemonFacts> {
  const address = addressOf(docker);
  await callDaemon(DEADLINE_MS, docker.ping(), address);
  const info = await callDaemon(FACTS_DEADLINE_MS, docker.info() as Promise<InfoAnswer>, address);
  if (typeof info?.BuildahVersion === "string") {
    const controllers = await callDaemon(FACTS_DEADLINE_MS, readControllers(docker), address).catch(() => []);
    return describeDaemon(podmanVersion(info), info, isLocal, controllers);
  }
  const version = await callDaemon(FACTS_DEADLINE_MS, docker.version() as Promise<VersionAnswer>, address);
  // A server of something else may say yes to everything.
  if (typeof version?.Version !== "string") throw noDaemon(address);
  return describeDaemon(version, info, isLocal);
}

/** Podman looks for the packages of all its parts before it tells its version, which takes a second or two. */
function podmanVersion({ ServerVersion, Architecture }: InfoAnswer): VersionAnswer {
  return {
    ...(ServerVersion !== undefined && { Version: ServerVersion }),
    ...(Architecture !== undefined && { Arch: Architecture }),
    Components: [{ Name: "Podman Engine" }],
  };
}

/** What a Podman may limit. Its Docker's answers tell of its machine instead, where a user's own may change nothing. */
async function readControllers(docker: Docker): Promise<readonly string[]> {
  const { modem } = docker as unknown as { modem: { dial(options: object, done: Answered): void } };
  const answer = await new Promise<{ host?: { cgroupControllers?: unknown } } | null>((resolve, reject) => {
    const options = { path: "/v4.0.0/libpod/info", method: "GET", statusCodes: { 200: true } };
    modem.dial(options, (error, data) => (error ? reject(error) : resolve(data as never)));
  });
  const found = answer?.host?.cgroupControllers;
  return Array.isArray(found) ? found.map(String) : [];
}

type Answered = (error: unknown, data: unknown) => void;

/** The parts of the answers that we read. A daemon that leaves one out does not have it. */
export interface VersionAnswer {
  readonly Version?: string;
  readonly Arch?: string;
  readonly Components?: readonly { readonly Name?: string; readonly Version?: string }[];
}

export interface InfoAnswer {
  /** Podman's. */
  readonly BuildahVersion?: string;
  readonly Rootless?: boolean;
  readonly ServerVersion?: string;
  readonly Architecture?: string;
  readonly OperatingSystem?: string;
  readonly SecurityOptions?: readonly string[] | null;
  readonly Runtimes?: Readonly<Record<string, unknown>> | null;
  readonly DefaultRuntime?: string;
  readonly CgroupVersion?: string;
  readonly CgroupDriver?: string;
  readonly MemoryLimit?: boolean;
  readonly SwapLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly PidsLimit?: boolean;
}

/** `controllers`: of the cgroups that a Podman may use. */
export function describeDaemon(
  version: VersionAnswer,
  info: InfoAnswer,
  isLocal: boolean,
  controllers: readonly string[] = [],
): DaemonFacts {
  const isRootless =
    info.Rootless === true ||
    (info.SecurityOptions?.some((each) => /^name=(rootless|userns)\b/.test(each)) ?? false);
  const podman = isPodman(version);
  const can = (said: boolean | undefined, controller: string) =>
    said === true && (!podman || controllers.includes(controller));
  return {
    name: podman ? "Podman" : "Docker",
    version: version.Version ?? "of unknown version",
    architecture: nodeArchitecture(version.Arch ?? ""),
    isLocal,
    isRootless,
    isDesktop: /docker desktop/i.test(info.OperatingSystem ?? ""),
    runtimes: Object.keys(info.Runtimes ?? {}),
    defaultRuntime: basename(info.DefaultRuntime ?? ""),
    cgroupVersion: info.CgroupVersion === "2" ? 2 : 1,
    cgroupDriver: info.CgroupDriver ?? "cgroupfs",
    limits: {
      memory: can(info.MemoryLimit, "memory"),
      swap: can(info.SwapLimit, "memory"),
      cpu: can(info.CpuCfsQuota, "cpu"),
      pids: can(info.PidsLimit, "pids"),
      // A rootless Podman leaves them out, and says nothing.
      ulimits: !(podman && isRootless),
    },
  };
}

function isPodman({ Components }: VersionAnswer): boolean {
  return Components?.some(({ Name }) => Name?.startsWith("Podman")) ?? false;
}

/**
 * Who limits the buffers of sockets: they count as memory, or we do it in the container's cgroup, or nothing does. That a
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
