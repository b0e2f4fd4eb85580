import { accessSync, constants, existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemCode } from "../../../../kit/errors.js";
import { readText } from "./host-groups.js";
import { SCOPE_NAME } from "./user-scope.js";

/** Where our own processes are once the group that we were given shares its controllers with the sandboxes' groups. */
export const HOST_LEAF = "skerry.host";
/** Version 2 counts CPU time in every group. */
export const UNIFIED_CONTROLLERS = ["memory", "cpu", "pids"] as const;
/** A child of ours that is born while we move the others: each round moves what the last one missed. */
const MOST_ROUNDS = 20;

/** The group below which the sandboxes' groups are to go. */
export interface UnifiedGroup {
  readonly path: string;
  /** True: our processes are in it, and only ours; version 2 lets it share its controllers once they are in a leaf. */
  readonly leave: boolean;
}

/** Why there is none, and what would help. */
export interface NoUnifiedGroup {
  readonly what: string;
  readonly remedy: string;
  /** True: we are a unit's main process, and leaving that unit would take us out of its limits. */
  readonly isOwnUnit: boolean;
}

export interface UnifiedHost {
  /** Where version 2 is mounted, and our group in it. */
  readonly mount: string;
  readonly own: string;
  readonly proc: string;
  readonly isRoot: boolean;
  /** Asks the systemd that runs a unit whether it leaves what is below the unit's group to the unit. */
  isDelegated(unit: string, manager: "system" | "user"): boolean;
}

/**
 * Finds it, and changes nothing: the group that we are in comes first, so that what limits us limits the sandboxes too. The
 * hierarchy's root is root's last resort.
 */
export function findUnifiedGroup(host: UnifiedHost): UnifiedGroup | NoUnifiedGroup {
  const { mount, own, proc, isRoot } = host;
  const here = join(mount, own).replace(/\/$/, "");
  const above = dirname(here);
  const isInside = here !== mount;
  if (isInside && basename(here) === HOST_LEAF && canShare(above)) return { path: above, leave: false };
  const strangers = isHierarchyRoot(here) ? [] : strangersIn(here, proc);
  const isAlone = !isHierarchyRoot(here) && strangers.length === 0;
  if (isAlone && canShare(here) && isOurs(here, host)) return { path: here, leave: true };
  // A process that started us has put us into a group below its own, and has left that one.
  const isBelowGiven =
    isInside && !isHierarchyRoot(above) && readText(join(above, "cgroup.procs")).trim() === "";
  if (isBelowGiven && canShare(above) && isOurs(above, host)) return { path: above, leave: false };
  if (isRoot && isHierarchyRoot(mount) && canShare(mount)) return { path: mount, leave: false };
  return explain(host, here, strangers.length);
}

/**
 * Moves our processes out of the group, and has it share what it can. False: memory is not among that, and everything is as
 * it was. A process of ours that was killed in between leaves an empty leaf, which the next one uses.
 */
export function openUnifiedGroup({ path, leave }: UnifiedGroup, proc: string): boolean {
  const leaf = join(path, HOST_LEAF);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    if (leave) {
      mkdirSync(leaf, { recursive: true });
      if (strangersIn(path, proc).length > 0) break;
      for (const pid of pidsIn(path)) moveInto(leaf, pid);
    }
    const outcomes = UNIFIED_CONTROLLERS.map((controller) => shareController(path, controller));
    if (!outcomes.includes("busy")) break;
  }
  if (sharedBy(path).includes("memory")) return true;
  if (!leave) return false;
  for (const pid of pidsIn(leaf)) moveInto(path, pid);
  try {
    rmdirSync(leaf);
  } catch {
    // Another process of ours is about to use it.
  }
  return false;
}

/** What a group shares with the groups below it. */
export function sharedBy(path: string): (typeof UNIFIED_CONTROLLERS)[number][] {
  const shared = readText(join(path, "cgroup.subtree_control")).split(/\s+/);
  return UNIFIED_CONTROLLERS.filter((controller) => shared.includes(controller));
}

/** Whether what is below a group is left to us, and not to the systemd that made it. */
function isOurs(path: string, { isRoot, isDelegated }: UnifiedHost): boolean {
  const name = basename(path);
  // A slice, and a user's manager, are systemd's own.
  if (/\.slice$/.test(name) || /^user@\d+\.service$/.test(name)) return false;
  if (SCOPE_NAME.test(name) || !/\.(?:service|scope)$/.test(name)) return true;
  // A user may write to every group of the own manager; of the system's only to those that were given away.
  if (/\/user@\d+\.service\//.test(path)) return isDelegated(name, "user");
  return !isRoot || isDelegated(name, "system");
}

/** Root without a group to write to is root of a container. */
export function remedyFor(isRoot: boolean): string {
  return isRoot
    ? "Start the container with control groups that can be written to, such as with --privileged."
    : "Run as root, in a service with Delegate=yes, or where systemd manages your login.";
}

function explain({ own, isRoot }: UnifiedHost, here: string, strangers: number): NoUnifiedGroup {
  const unit = /([^/]+\.service)(?:\/|$)/.exec(own.replace(/.*\/user@\d+\.service/, ""))?.[1];
  if (existsSync(join(here, "cgroup.controllers")) && !hasMemory(here)) {
    return {
      what: "the control group that we are in has no memory controller",
      remedy: "Start Skerry where systemd, or the container's runtime, hands on memory, cpu and pids.",
      isOwnUnit: false,
    };
  }
  if (canShare(here) && strangers > 0) {
    return {
      what:
        strangers === 1
          ? "a process that is not Skerry's shares its control group"
          : `${strangers} processes that are not Skerry's share its control group`,
      remedy:
        "Start Skerry in a group of its own: as the first process of its service or container, or in a unit with DelegateSubgroup=.",
      isOwnUnit: false,
    };
  }
  const isOwnUnit = unit !== undefined && (strangers === 0 || !/\/user@\d+\.service\//.test(own));
  return {
    what: "no control group was given to us",
    remedy: isOwnUnit ? `Set Delegate=yes in ${unit}.` : remedyFor(isRoot),
    isOwnUnit,
  };
}

/** Only the true root has no type; the root of a container's view is a group like any other. */
export function isHierarchyRoot(path: string): boolean {
  return !existsSync(join(path, "cgroup.type"));
}

function hasMemory(path: string): boolean {
  return readText(join(path, "cgroup.controllers")).split(/\s+/).includes("memory");
}

function canShare(path: string): boolean {
  if (!hasMemory(path)) return false;
  try {
    for (const name of ["", "cgroup.procs", "cgroup.subtree_control"])
      accessSync(join(path, name), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The processes of a group that are neither we nor started by us. Those of another pid namespace read as 0. */
function strangersIn(path: string, proc: string): number[] {
  return pidsIn(path).filter((pid) => !isOwnProcess(pid, proc));
}

function isOwnProcess(pid: number, proc: string): boolean {
  for (let at = pid; at > 0; ) {
    if (at === process.pid) return true;
    const stat = readText(join(proc, String(at), "stat"));
    // It has ended meanwhile: then it is in no group.
    if (stat === "") return at === pid;
    at = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  }
  return false;
}

function pidsIn(path: string): number[] {
  return (readText(join(path, "cgroup.procs")).match(/\d+/g) ?? []).map(Number);
}

/** Every thread of the process goes along. */
function moveInto(path: string, pid: number): void {
  try {
    writeFileSync(join(path, "cgroup.procs"), String(pid));
  } catch {
    // It has ended, or is ending. Anything else shows when the controllers are to be shared.
  }
}

/** "busy": a process is still in the group itself. */
function shareController(path: string, controller: string): "done" | "busy" | "refused" {
  if (sharedBy(path).some((each) => each === controller)) return "done";
  try {
    writeFileSync(join(path, "cgroup.subtree_control"), `+${controller}`);
    return "done";
  } catch (error) {
    return systemCode(error) === "EBUSY" && pidsIn(path).length > 0 ? "busy" : "refused";
  }
}
