import { existsSync, lstatSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CreateSpec } from "../../backend.js";
import type { GuestRuntime } from "../../guest-runtime.js";
import { GUEST_RUNTIME, GUEST_WORKSPACE } from "../guest-layout.js";
import { HIDDEN_PROC } from "../hidden-proc.js";
import { meminfoFile } from "../shown-limits.js";
import { workspacePath } from "../workspace/workspace-mount.js";
import { filesystemArguments, hide } from "./host-paths.js";
import { SECCOMP_FD, type SharedDirectories } from "./launch-request.js";

/** Where the guest finds the filter that programs get, in a sandbox with cells. */
export const CELL_FILTER = `${GUEST_RUNTIME}/sandbox.bpf`;
const CELLS = "/opt/cells";
const GUEST_USER = "1000";
const SHM_MB = 64;

/** Top-level directories that are links into /usr on a merged system, and real ones elsewhere. */
const ROOT_PATHS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** What only root can open is hidden as it is: each mount takes time. */
function readableProc(): string[] {
  return HIDDEN_PROC.filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0);
}

/** Everything in the sandbox's view that does not change from one sandbox to the next. */
export function commonArguments(runtime: GuestRuntime, cells = false): string[] {
  const empty = join(runtime.directory, "empty");
  return [
    ...[
      "--unshare-user",
      "--unshare-ipc",
      "--unshare-pid",
      "--unshare-net",
      "--unshare-uts",
      "--unshare-cgroup",
    ],
    // Cells have namespaces of their own; what keeps programs from making any is then the filter, and each cell's own limit.
    ...(cells ? [] : ["--disable-userns"]),
    ...["--die-with-parent", "--new-session", "--as-pid-1"],
    ...["--clearenv", "--cap-drop", "ALL", "--uid", GUEST_USER, "--gid", GUEST_USER],
    ...["--ro-bind", "/usr", "/usr"],
    ...ROOT_PATHS.flatMap(rootPath),
    ...["--ro-bind", join(runtime.directory, "etc"), "/etc"],
    ...["--ro-bind", runtime.directory, GUEST_RUNTIME],
    ...["--proc", "/proc"],
    ...readableProc().flatMap((path) => hide(path, empty)),
    ...["--dev", "/dev"],
    ...(cells ? HIDDEN_WHOLE_PROC : []),
  ];
}

/**
 * The kernel lets a cell have a /proc of its own only where a whole one is mounted already. No program can reach this one: its
 * directory is covered by an empty one.
 */
const HIDDEN_WHOLE_PROC = [
  ...["--tmpfs", CELLS, "--proc", `${CELLS}/proc`],
  ...["--tmpfs", CELLS, "--remount-ro", CELLS],
];

/** What of this host, and of the guest's runtime, every sandbox reads. */
export function sharedDirectories({ directory }: GuestRuntime): SharedDirectories {
  const own = ROOT_PATHS.filter((path) => existsSync(path) && !lstatSync(path).isSymbolicLink());
  return { paths: ["/usr", ...own, directory], empty: join(directory, "empty") };
}

/** The rest: sizes, names, the workspace. The root itself becomes read-only last. */
export function sandboxArguments(
  runtime: GuestRuntime,
  common: readonly string[],
  spec: CreateSpec,
): string[] {
  return closed(common, spec.limits.tmpMb, [
    ...filesystemArguments(spec.filesystem, join(runtime.directory, "empty")),
    ...["--bind", workspacePath(spec), GUEST_WORKSPACE],
    ...(spec.limits.memoryMb === undefined
      ? []
      : ["--ro-bind", meminfoFile(runtime, spec.limits.memoryMb), "/proc/meminfo"]),
  ]);
}

/** The same without anybody's files, to see whether one starts at all. */
export function emptySandboxArguments(runtime: GuestRuntime, common: readonly string[]): string[] {
  return closed(common, undefined, ["--ro-bind", join(runtime.directory, "empty"), GUEST_WORKSPACE]);
}

function closed(common: readonly string[], tmpMb: number | undefined, files: readonly string[]): string[] {
  return [
    ...common,
    ...["--hostname", "skerry"],
    ...sizedTmpfs("/tmp", tmpMb ?? 256),
    ...sizedTmpfs("/dev/shm", Math.min(SHM_MB, tmpMb ?? SHM_MB)),
    ...files,
    ...["--chdir", GUEST_WORKSPACE],
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--seccomp", String(SECCOMP_FD)],
  ];
}

function sizedTmpfs(path: string, sizeMb: number): string[] {
  return [
    "--perms",
    "1777",
    "--size",
    String(Math.max(4096, Math.round(sizeMb * 1024 * 1024))),
    "--tmpfs",
    path,
  ];
}

function rootPath(path: string): string[] {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink()
    ? ["--symlink", readlinkSync(path), path]
    : ["--ro-bind", path, path];
}
