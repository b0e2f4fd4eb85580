import { posix } from "node:path";
import type { MountSettings } from "dockerode";
import { SandboxError } from "../../../../kit/errors.js";
import { escapeUnsafe } from "../../../../kit/escape-unsafe.js";
import type { CreateSpec, Limits } from "../../backend.js";
import { GUEST_RUNTIME, GUEST_WORKSPACE } from "../../linux/guest-layout.js";
import { HIDDEN_PROC } from "../../linux/hidden-proc.js";
import type { ContainerOptions, ContainerPlan } from "./container-plan.js";
import { containerName, LABEL, makerLabels, sessionLabel } from "./labels.js";
import { podmanOptions } from "./podman/podman-options.js";
import { seccompOption } from "./seccomp-option.js";

/** The cgroup of all containers, where the daemon makes them itself. */
export const GROUP_OF_ALL = "/skerry";
const SHM_MB = 64;
const MB = 1024 * 1024;
const DEFAULT_TMP_MB = 256;
const DEFAULT_WORKSPACE_MB = 1024;
const MESSAGE_QUEUE_BYTES = 819_200;

/** What tells about the host, and what no program inside needs. */
const MASKED_PATHS = ["/sys", ...HIDDEN_PROC];

/** The request that makes a container: every wall that the daemon has, whatever the image says. */
export function containerOptions(plan: ContainerPlan): ContainerOptions {
  const options = dockerOptions(plan);
  if (plan.facts.name !== "Podman") return options;
  if (plan.podman === undefined) throw new SandboxError("INTERNAL", "Podman's files are not written");
  return podmanOptions(options, plan.podman, plan.facts);
}

function dockerOptions(plan: ContainerPlan): ContainerOptions {
  const { spec, facts } = plan;
  return {
    name: containerName(spec.id, spec.sessionKey, plan.part),
    Image: plan.image,
    Entrypoint: [`${GUEST_RUNTIME}/${plan.guest.program}`],
    Cmd: plan.ownKernel?.guestArguments(plan.user) ?? [],
    Env: [],
    User: plan.ownKernel === undefined ? `${plan.user.uid}:${plan.user.gid}` : "0:0",
    WorkingDir: GUEST_WORKSPACE,
    Hostname: "skerry",
    Domainname: "",
    Tty: false,
    // Once: the daemon closes it when we are gone, and with its input the guest ends.
    ...{ OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true },
    ...(plan.networkMode === "none" && { NetworkDisabled: true }),
    Healthcheck: { Test: ["NONE"] },
    Labels: {
      ...makerLabels(plan.stateDir, spec.id),
      [LABEL.sandbox]: spec.id,
      [LABEL.session]: sessionLabel(spec.sessionKey),
    },
    HostConfig: {
      ...(plan.runtime !== undefined && { Runtime: plan.runtime }),
      NetworkMode: plan.networkMode,
      // The host's name servers are its own business.
      Dns: ["127.0.0.1"],
      ReadonlyRootfs: true,
      Privileged: false,
      CapDrop: ["ALL"],
      ...(plan.ownKernel !== undefined && { CapAdd: [...plan.ownKernel.guestCapabilities] }),
      SecurityOpt: ["no-new-privileges", seccompOption()],
      ...limitOptions(spec.limits, plan),
      OomScoreAdj: 500,
      IpcMode: "private",
      // Otherwise the path of its group would tell about the host.
      ...{ CgroupnsMode: "private" },
      ShmSize: bytes(Math.min(SHM_MB, spec.limits.tmpMb ?? SHM_MB)),
      CgroupParent: facts.cgroupDriver === "systemd" ? "skerry.slice" : GROUP_OF_ALL,
      MaskedPaths: MASKED_PATHS,
      ReadonlyPaths: [],
      Mounts: mounts(plan),
      Tmpfs: memoryDirectories(plan),
      // Standard output is the wire: the daemon must not keep it.
      LogConfig: { Type: "none", Config: {} },
      Init: false,
      AutoRemove: false,
      RestartPolicy: { Name: "no" },
    },
  };
}

/** Every path inside that is not the image's: nothing else may differ from the image, ever. */
export function mountedPaths(plan: ContainerPlan): string[] {
  const { Mounts = [], Tmpfs } = containerOptions(plan).HostConfig;
  return [...Mounts.map(({ Target }) => Target), ...Object.keys((Tmpfs ?? {}) as object)];
}

function limitOptions(limits: Limits, { facts, ownKernel }: ContainerPlan) {
  const memory = limits.memoryMb === undefined ? undefined : bytes(limits.memoryMb);
  return {
    ...(memory !== undefined && { Memory: memory, MemorySwap: memory }),
    ...(memory !== undefined && facts.cgroupVersion === 1 && facts.limits.swap && { MemorySwappiness: 0 }),
    ...(limits.cpus !== undefined && { NanoCpus: Math.round(limits.cpus * 1e9) }),
    // The own kernel's threads count there, and it does not survive when it cannot have one more.
    ...((ownKernel ?? limits.pids) !== undefined && { PidsLimit: ownKernel?.hostThreads ?? limits.pids }),
    Ulimits: [
      ulimit("core", 0),
      ulimit("msgqueue", MESSAGE_QUEUE_BYTES),
      // Processes of the own kernel: its user ids are not shared with other sandboxes.
      ...(ownKernel !== undefined && limits.pids !== undefined ? [ulimit("nproc", limits.pids)] : []),
      ...(limits.openFiles === undefined ? [] : [ulimit("nofile", limits.openFiles)]),
      ...(limits.fileSizeMb === undefined ? [] : [ulimit("fsize", bytes(limits.fileSizeMb))]),
    ],
  };
}

function ulimit(Name: string, most: number) {
  return { Name, Soft: most, Hard: most };
}

function mounts({ guest, workspace, files }: ContainerPlan): MountSettings[] {
  const readOnly = (Source: string, Target: string): MountSettings => ({
    Type: "bind",
    Source,
    Target,
    ReadOnly: true,
  });
  return [
    guest.kind === "directory"
      ? readOnly(guest.path, GUEST_RUNTIME)
      : {
          Type: "volume",
          Source: guest.name,
          Target: GUEST_RUNTIME,
          ReadOnly: true,
          VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: "", Options: {} } },
        },
    ...Object.entries(files).map(([inside, path]) => readOnly(path, inside)),
    ...(workspace === undefined
      ? []
      : [
          {
            Type: "bind" as const,
            Source: workspace,
            Target: GUEST_WORKSPACE,
            BindOptions: { Propagation: "rprivate" as const },
          },
        ]),
  ];
}

/** Memory counts as the container's. Programs may be run from it, as from any directory of theirs. */
function memoryDirectories({ spec, user, workspace, imageVolumes }: ContainerPlan): Record<string, string> {
  const { tmpMb = DEFAULT_TMP_MB, workspaceInodes } = spec.limits;
  const common = "rw,exec,nosuid,nodev";
  const own = `mode=700,uid=${user.uid},gid=${user.gid}`;
  const inodes = workspaceInodes === undefined ? "" : `,nr_inodes=${workspaceInodes}`;
  return {
    "/tmp": `${common},mode=1777,size=${bytes(tmpMb)}`,
    ...(workspace === undefined && {
      [GUEST_WORKSPACE]: `${common},${own},size=${bytes(workspaceMb(spec))}${inodes}`,
    }),
    ...Object.fromEntries(
      volumesInMemory(imageVolumes).map((path) => [
        path,
        `${common},${own},size=${bytes(Math.min(SHM_MB, tmpMb))}`,
      ]),
    ),
  };
}

/** Memory that files take is not there for programs: half of it, unless a size was asked for. */
function workspaceMb({ limits, requestedLimits }: CreateSpec): number {
  const size = limits.workspaceMb ?? DEFAULT_WORKSPACE_MB;
  if (requestedLimits.workspaceMb !== undefined || limits.memoryMb === undefined) return size;
  return Math.min(size, limits.memoryMb / 2);
}

/** In whole pages: what is left over would be rounded up. */
function bytes(megabytes: number): number {
  return Math.max(4096, Math.floor((megabytes * MB) / 4096) * 4096);
}

/** Mounts of ours are there: the daemon then makes no volume. */
const COVERED = ["/workspace", "/tmp", "/opt/skerry"];
/** A volume there would hide files of a session, of ours or the kernel's. */
const OURS = ["/workspace", "/opt/skerry", "/dev", "/proc", "/sys"];
/** Memory there would hide what the image needs to work, and a volume could be written to without a limit. */
const SYSTEM = ["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/sbin", "/usr"];

/** Where an image wants volumes and gets limited memory instead. Throws where it cannot have that either. */
function volumesInMemory(volumes: readonly string[]): string[] {
  const paths = [...new Set(volumes.map((path) => posix.join("/", path, ".").replace(/(?<=.)\/$/, "")))];
  return paths.filter((path) => {
    if (COVERED.includes(path)) return false;
    if (path === "/" || [...OURS, ...SYSTEM].some((each) => path === each || path.startsWith(`${each}/`))) {
      throw new SandboxError(
        "SANDBOX_START_FAILED",
        `The image declares a volume at ${escapeUnsafe(path)}, which a sandbox cannot have there`,
        { hint: "Build it without that VOLUME line; docker inspect shows which image it comes from." },
      );
    }
    return true;
  });
}
