import { accessSync, constants, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readGroups, readMounts } from "./host-groups.js";
import { findUnifiedGroup, isHierarchyRoot, sharedBy, type UnifiedHost } from "./unified-group.js";
import { askDelegation } from "./user-scope.js";

/** Below the group that was found: what all sandboxes together share. */
const GROUP_OF_ALL = "skerry";

/** The directories in which we may make groups: one per controller in version 1, a single one in version 2. */
export interface CgroupBase {
  readonly version: 1 | 2;
  readonly directories: ReadonlyMap<Controller, string>;
}

/** `cpuacct` counts CPU time, in version 1 only: version 2 counts it in every group. */
export type Controller = "memory" | "cpu" | "cpuacct" | "pids";
const CONTROLLERS: readonly Controller[] = ["memory", "cpu", "cpuacct", "pids"];

/** Finds where this process may make groups; undefined when nowhere. Changes nothing. */
export function findCgroupBase(proc = "/proc"): CgroupBase | undefined {
  const mounts = readMounts(proc);
  const own = readGroups(proc, "self");
  const directories = new Map<Controller, string>();
  for (const controller of CONTROLLERS) {
    const mount = mounts.find((each) => each.type === "cgroup" && each.options.includes(controller));
    if (mount === undefined) continue;
    // Below our own group, so that limits set on us hold for the sandboxes too.
    const candidates = [join(mount.path, own.get(controller) ?? "/"), mount.path];
    const directory = candidates.find((path) => canMakeGroups(path));
    if (directory !== undefined) directories.set(controller, directory);
  }
  // Counting alone limits nothing.
  if ([...directories.keys()].some((controller) => controller !== "cpuacct"))
    return { version: 1, directories };
  const unified = findUnifiedHost(proc);
  return unified === undefined ? undefined : findUnifiedBase(unified);
}

/** Where version 2 is mounted, and where we are in it; undefined: it is not there. */
export function findUnifiedHost(proc: string): UnifiedHost | undefined {
  const mount = readMounts(proc).find((each) => each.type === "cgroup2");
  if (mount === undefined) return undefined;
  return {
    mount: mount.path,
    own: readGroups(proc, "self").get("") ?? "/",
    proc,
    isRoot: process.getuid?.() === 0,
    isDelegated: askDelegation,
  };
}

/** What the group that `findUnifiedGroup` finds shares by now; `openCgroups` has it share everything that it may. */
function findUnifiedBase(host: UnifiedHost): CgroupBase | undefined {
  const found = findUnifiedGroup(host);
  if (!("path" in found) || found.leave) return undefined;
  const base = join(found.path, GROUP_OF_ALL);
  const shared = sharedBy(found.path);
  if (!shared.includes("memory")) return undefined;
  return { version: 2, directories: new Map(shared.map((controller) => [controller, base])) };
}

/** Makes version 2's parent, and has it share its controllers with the groups below. */
export function makeUnifiedParent({ directories }: CgroupBase): void {
  for (const [controller, base] of directories) {
    mkdirSync(base, { recursive: true });
    // systemd takes back what it shares at the root when no unit of its own wants it any more.
    for (const path of [dirname(base), base])
      writeFileSync(join(path, "cgroup.subtree_control"), `+${controller}`);
  }
}

/** Removes it when nothing is in it; at the hierarchy's root it stays, where containers have theirs in it too. */
export function removeUnifiedParent({ directories }: CgroupBase): void {
  const base = directories.get("memory");
  if (base === undefined || isHierarchyRoot(dirname(base))) return;
  try {
    rmdirSync(base);
  } catch {
    // Another process has a sandbox in it, or has removed it.
  }
}

function canMakeGroups(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
