import { existsSync } from "node:fs";
import type Docker from "dockerode";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { Capabilities, Probe } from "../backend.js";
import type { HostFacts } from "../linux/host-facts.js";
import { findDocker } from "./daemon/connect.js";
import { type DaemonFacts, socketMemory } from "./daemon/daemon-facts.js";
import { explainDockerFailure } from "./daemon/explain-failure.js";
import type { DockerConfig } from "./docker-config.js";
import { findImage } from "./images/sandbox-image.js";
import type { KernelRuntime } from "./kernel-runtime.js";

/** What one backend of containers works with. */
export interface ContainerSettings extends DockerConfig {
  /** Left out: containers share the host's kernel. */
  readonly ownKernel?: KernelRuntime | undefined;
}

type Problem = Probe["problems"][number];

/** How a sandbox's files are reached: in a directory that both see, or through the guest. */
export function sharesFiles(options: ContainerSettings, facts: DaemonFacts, isRoot: boolean): boolean {
  if (options.shareFiles !== "auto") return options.shareFiles === "always";
  return isRoot && facts.isLocal && !facts.isRootless && !facts.isDesktop;
}

/** A container's user is this host's user of that number, and root may take any. */
export function ownsUsers(facts: DaemonFacts, isRoot: boolean): boolean {
  return isRoot && isOnThisHost(facts);
}

function isOnThisHost({ isLocal, isRootless, isDesktop }: DaemonFacts): boolean {
  return isLocal && !isRootless && !isDesktop;
}

/** What holds with this daemon: claims, and nothing that is not enforced. */
export function capabilitiesOf(
  options: ContainerSettings,
  facts: DaemonFacts | undefined,
  host: HostFacts,
): Capabilities {
  const shares = facts === undefined ? false : sharesFiles(options, facts, host.isRoot);
  const limits = facts?.limits;
  return {
    isolates: true,
    isolation: options.ownKernel === undefined ? "container" : "kernel",
    network: options.networkMode === "none" ? "per-host" : "all-or-nothing",
    memoryLimit: limits?.memory ?? false,
    ...(options.ownKernel !== undefined && { endsAtMemoryLimit: true }),
    cpuLimit: limits?.cpu ?? false,
    pidsLimit: options.ownKernel !== undefined || (limits?.pids ?? false),
    fileSizeLimit: limits?.ulimits ?? false,
    openFilesLimit: limits?.ulimits ?? false,
    workspaceLimit: shares ? host.canMountImages : facts !== undefined && countsFiles(options, facts),
    terminal: true,
    sharedWorkspace: shares,
    diesWithHost: true,
  };
}

/** Whether the files in a container's memory have a limit: a kernel of its own does not count them, Podman takes none. */
function countsFiles(options: ContainerSettings, facts: DaemonFacts): boolean {
  return options.ownKernel === undefined && facts.name !== "Podman";
}

/** Without this nothing starts. */
export function blockers(options: ContainerSettings, facts: DaemonFacts): Problem[] {
  const found: Problem[] = [];
  const { runtime } = options;
  if (facts.name === "Podman") {
    if (runtime !== undefined && facts.defaultRuntime !== runtime) {
      found.push({
        what: `Podman takes no runtime over its API: containers would get ${escapeUnsafe(facts.defaultRuntime)}, not ${runtime}`,
        remedy: `Have its service use it for all (podman --runtime ${runtime} system service), or use Docker.`,
      });
    }
    if (!facts.isLocal) {
      found.push({
        what: "Podman reads a seccomp profile from a file of its own machine only, and nothing runs without ours",
        remedy: "Use a Podman of this machine (unix://), Docker, or the backend bubblewrap.",
      });
    }
    if (facts.isRootless && facts.cgroupVersion === 1) {
      found.push({
        what: "a rootless Podman has no cgroups of its own here: its sandboxes would see where it runs on this host",
        remedy: "Use cgroup version 2, Podman as root, or rootless Docker.",
      });
    }
  } else if (runtime !== undefined && !facts.runtimes.includes(runtime)) {
    found.push({
      what: `the Docker daemon has no runtime ${runtime}`,
      remedy: runtimeRemedy(runtime, options, facts),
    });
  }
  if (options.shareFiles === "always" && facts.isRootless) {
    found.push({
      what: "a rootless daemon cannot share directories: its users are not this host's",
      remedy: "Set backends.docker.shareFiles to auto or never.",
    });
  }
  return found;
}

/** What is weaker than it could be, and what a user would otherwise only find out. */
export function weaknesses(options: ContainerSettings, facts: DaemonFacts, host: HostFacts): Problem[] {
  return [...weakLimits(options, facts, host), ...weakFiles(options, facts, host)];
}

function weakLimits(options: ContainerSettings, facts: DaemonFacts, host: HostFacts): Problem[] {
  const found: Problem[] = [];
  const { limits } = facts;
  const missing = [!limits.memory && "memory", !limits.cpu && "CPU time", !limits.pids && "processes"].filter(
    (each) => each !== false,
  );
  if (missing.length > 0) {
    found.push({
      what: `the daemon cannot limit ${missing.join(", ")}`,
      remedy: facts.isRootless
        ? "Rootless daemons need cgroup version 2 with delegation (systemd)."
        : "The kernel's cgroup controllers are not all there.",
    });
  }
  if (!limits.ulimits) {
    found.push({
      what: "a rootless Podman ignores limits of open files and of a file's size",
      remedy: "Use Podman as root, or rootless Docker.",
    });
  }
  if (facts.name === "Podman" && facts.cgroupVersion === 1) {
    found.push({
      what: "sandboxes see the name of their cgroup on this host: Podman gives no cgroup namespace here",
      remedy: "The name tells no more than the container's id; with cgroup version 2 there is one.",
    });
  }
  if (limits.memory && !limits.swap) {
    found.push({
      what: "swap is not counted: a sandbox may use more than its memory limit where the host swaps",
      remedy: "Switch swap off, or boot with swapaccount=1.",
    });
  }
  if (limits.memory && options.ownKernel === undefined && socketMemory(facts, host.isRoot) === "unlimited") {
    found.push({
      what: "the buffers of sockets are not counted: a sandbox may take gigabytes of the kernel's memory beyond its limit",
      remedy:
        "The daemon's machine has cgroup version 1: use version 2, or root and a daemon of this machine.",
    });
  }
  if (options.ownKernel === undefined && !host.isRoot && isOnThisHost(facts) && process.getuid?.() !== 1000) {
    found.push({
      what: "sandboxes run as uid 1000 of this host: a user with that uid can read and change them through /proc",
      remedy: "Run as root, which gives every session a uid of its own, or use a rootless daemon.",
    });
  }
  return found;
}

function weakFiles(options: ContainerSettings, facts: DaemonFacts, host: HostFacts): Problem[] {
  const found: Problem[] = [];
  const shares = sharesFiles(options, facts, host.isRoot);
  const others = new Set(Object.values(options.images).filter((image) => image !== options.image)).size;
  if (shares && others > 0) {
    found.push({
      what: `a sandbox has a container for each of ${others + 1} images, and its limits hold for each: together it may take ${others + 1} times as much`,
      remedy: "Use one image with all languages, or give smaller limits.",
    });
  }
  if (!shares) {
    const why = !facts.isLocal
      ? "the daemon is on another machine"
      : facts.isRootless
        ? "the daemon is rootless"
        : facts.isDesktop
          ? "the daemon runs in a machine of its own"
          : options.shareFiles === "never"
            ? "shareFiles is never"
            : "only root can share directories with the daemon";
    found.push({
      what: `files go over the wire, and a workspace is kept in the container's memory: ${why}`,
      remedy: "Nothing needs to be done; a local daemon and root make it quicker.",
    });
    if (!countsFiles(options, facts)) {
      const who =
        options.ownKernel === undefined
          ? "Podman takes no such limit"
          : `${options.ownKernel.title}'s memory does not count them`;
      found.push({
        what: `the number of files in a workspace cannot be limited: ${who}`,
        remedy: "A local daemon and root keep workspaces in limited images; memory limits them anyway.",
      });
    }
  } else if (!host.canMountImages) {
    found.push({
      what: "the size of a workspace cannot be limited",
      remedy: host.isRoot
        ? "Loop devices and e2fsprogs are needed: apt-get install e2fsprogs"
        : "Run as root, or set backends.docker.shareFiles to never.",
    });
  }
  return found;
}

function runtimeRemedy(runtime: string, options: ContainerSettings, { isLocal }: DaemonFacts): string {
  const own = isLocal ? options.ownKernel?.remedyFor(runtime, findDocker(options)) : undefined;
  return own ?? "Register it in the daemon's configuration (runtimes).";
}

/** The configured images that the daemon does not have, or not for its machine. */
export async function missingImages(
  docker: Docker,
  { image, images }: ContainerSettings,
  facts: DaemonFacts,
): Promise<Problem[]> {
  const names = [...new Set([image, ...Object.values(images)])];
  const found = await Promise.all(
    names.map((name) =>
      findImage(docker, name, facts).then(
        () => undefined,
        (error: unknown) => explainDockerFailure(error),
      ),
    ),
  );
  return found.flatMap((failure) =>
    failure === undefined ? [] : [{ what: failure.message, remedy: failure.hint ?? "skerry image ls" }],
  );
}

/** A daemon of this host that only has to be started, or one that runs. */
export function isDockerInstalled(): boolean {
  const programs = ["/usr/bin/dockerd", "/usr/sbin/dockerd", "/usr/local/bin/dockerd", "/usr/bin/podman"];
  return [...programs, "/var/run/docker.sock", "/run/podman/podman.sock"].some((path) => existsSync(path));
}
