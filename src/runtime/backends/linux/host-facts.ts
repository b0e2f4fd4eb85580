import { accessSync, constants, existsSync, statSync } from "node:fs";
import type { Capabilities } from "../backend.js";
import type { CgroupBase } from "./cgroup/cgroup-base.js";
import type { OpenedCgroups } from "./cgroup/open-cgroups.js";
import { hasCapability, isInitialUserNamespace } from "./own-rights.js";

const USUAL_PATHS = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/** What the backend needs to know about this host, found once. */
export interface HostFacts {
  readonly bubblewrap: string | undefined;
  readonly isRoot: boolean;
  readonly cgroups: CgroupBase | undefined;
  /** Why there are none. */
  readonly cgroupProblem?: OpenedCgroups["problem"];
  readonly canMountImages: boolean;
  /** Why not, and what would help. */
  readonly imageProblem?: { readonly what: string; readonly remedy: string };
}

/** `cgroups`: what `openCgroups` found, for a backend that makes groups. */
export function findHostFacts(path: string | undefined, { base, problem }: OpenedCgroups = {}): HostFacts {
  const isRoot = process.getuid?.() === 0;
  return {
    bubblewrap: (path === undefined ? USUAL_PATHS : [path]).find(isExecutable),
    isRoot,
    cgroups: base,
    ...(problem !== undefined && { cgroupProblem: problem }),
    ...findImageProblem(isRoot),
  };
}

/** The host reaches what it has mounted for a sandbox through a process of another user. */
function findImageProblem(isRoot: boolean): Pick<HostFacts, "canMountImages" | "imageProblem"> {
  const because = (what: string, remedy: string) => ({
    canMountImages: false,
    imageProblem: { what: `the size of a workspace cannot be limited: ${what}`, remedy },
  });
  if (!isRoot) return because("only root can mount", "Run as root.");
  const missing = (["SYS_ADMIN", "SYS_PTRACE"] as const).filter((name) => !hasCapability(name));
  if (missing.length > 0) {
    const names = missing.map((name) => `CAP_${name}`).join(" and ");
    return because(`this process has no ${names}`, `Start Skerry, or its container, with ${names}.`);
  }
  if (!isInitialUserNamespace()) {
    return because(
      "this user namespace may not mount disk images",
      "Run Skerry outside of the rootless container, as root.",
    );
  }
  if (existsSync("/dev/loop-control") && findMke2fs() !== undefined) return { canMountImages: true };
  return because("no loop devices or no mke2fs", "apt-get install e2fsprogs, and modprobe loop");
}

export function findMke2fs(): string | undefined {
  return ["/sbin/mke2fs", "/usr/sbin/mke2fs"].find(isExecutable);
}

export function capabilitiesOf(facts: HostFacts): Capabilities {
  return {
    isolates: true,
    network: "per-host",
    memoryLimit: facts.cgroups?.directories.has("memory") ?? false,
    cpuLimit: facts.cgroups?.directories.has("cpu") ?? false,
    pidsLimit: true,
    fileSizeLimit: true,
    openFilesLimit: true,
    workspaceLimit: facts.canMountImages,
    terminal: true,
    sharedWorkspace: true,
    diesWithHost: true,
    cells: true,
  };
}

/** A program that only root or this user could have put there. */
function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    const stat = statSync(path);
    return stat.isFile() && (stat.mode & 0o002) === 0;
  } catch {
    return false;
  }
}
