import type { MountSettings } from "dockerode";
import { SandboxError } from "../../../../../kit/errors.js";
import type { DaemonFacts } from "../../daemon/daemon-facts.js";
import type { ContainerOptions } from "../container-plan.js";
import type { PodmanFiles } from "./podman-files.js";

/** Podman makes them world-writable memory, beside a read-only root. Ours are read-only. */
const PODMAN_MEMORY = ["/run", "/var/tmp"];
const NOT_WRITABLE = "rw,noexec,nosuid,nodev,notmpcopyup,mode=755,size=65536";
/** Where Podman puts what the host's system gives every container. */
const PODMAN_SECRETS = "/run/secrets";
const KNOWN_MEMORY_OPTIONS = ["rw", "exec", "nosuid", "nodev", "mode", "size"];

/** Podman would raise it to a number that not every service may; a cgroup limits a sandbox's own processes. */
const MOST_PROCESSES_OF_A_USER = 32_768;

/**
 * The same walls in Podman's words. It ignores parts of what Docker takes, and takes other parts from its own
 * configuration where the request is silent.
 */
export function podmanOptions(
  options: ContainerOptions,
  files: PodmanFiles,
  facts: DaemonFacts,
): ContainerOptions {
  const { MaskedPaths = [], Mounts = [], Tmpfs, CgroupParent, ...host } = options.HostConfig;
  const security: readonly string[] = host.SecurityOpt ?? [];
  const ulimits = host.Ulimits ?? [];
  const mounts = [...Mounts, ...missingFiles(Mounts, files)];
  for (const { Source } of mounts) checkSource(Source);
  return {
    ...options,
    HostConfig: {
      ...host,
      // A user's own Podman makes groups where systemd lets it, and nowhere else.
      ...(!(facts.isRootless && facts.cgroupDriver !== "systemd") && { CgroupParent }),
      SecurityOpt: [
        ...security.filter((each) => !each.startsWith("seccomp=")),
        `seccomp=${files.profile}`,
        `mask=${[...MaskedPaths, PODMAN_SECRETS].join(":")}`,
      ],
      UsernsMode: "host",
      PidMode: "private",
      UTSMode: "private",
      Ulimits: ulimits.some(({ Name }) => Name === "nproc")
        ? ulimits
        : [...ulimits, { Name: "nproc", Soft: MOST_PROCESSES_OF_A_USER, Hard: MOST_PROCESSES_OF_A_USER }],
      Mounts: mounts,
      Tmpfs: {
        ...Object.fromEntries(PODMAN_MEMORY.map((path) => [path, NOT_WRITABLE])),
        ...Object.fromEntries(
          Object.entries(Tmpfs as Record<string, string>).map(([path, each]) => [path, memoryOptions(each)]),
        ),
      },
    },
  };
}

function missingFiles(mounts: readonly MountSettings[], { etc }: PodmanFiles): MountSettings[] {
  // With files of its own a sandbox has them all.
  if (mounts.some(({ Target }) => Target === "/etc/hosts")) return [];
  return Object.entries(etc).map(([Target, Source]) => ({ Type: "bind", Source, Target, ReadOnly: true }));
}

/** Podman's word for "owned by the container's user" is U; it copies what the image has there unless told not to. */
function memoryOptions(options: string): string {
  const all = options.split(",");
  const known = all.filter((each) => KNOWN_MEMORY_OPTIONS.includes(each.split("=")[0]!));
  const owner = all.some((each) => each.startsWith("uid=")) ? ["U"] : [];
  return [...known, ...owner, "notmpcopyup"].join();
}

/** Podman writes mounts into one line, and takes it apart at these. */
function checkSource(source: string): void {
  if (!/[,"\r\n]/.test(source)) return;
  throw new SandboxError(
    "CONFIG_INVALID",
    "Podman takes no directory with a comma, a quotation mark or a line break in its path",
    { hint: "Set SKERRY_STATE_DIR or sandbox.stateDir to another one." },
  );
}
