import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

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
  const unified = mounts.find((each) => each.type === "cgroup2");
  return unified === undefined ? undefined : findUnifiedBase(unified.path, own.get("") ?? "/");
}

/**
 * Version 2 wants processes only in leaves: our groups live in a parent beside our own, or below the root. What that
 * parent would be given is what the group above it shares; it is made with the first sandbox.
 */
function findUnifiedBase(mount: string, own: string): CgroupBase | undefined {
  for (const parent of [mount, join(mount, own, "..")]) {
    const shared = readText(join(parent, "cgroup.subtree_control")).split(/\s+/);
    const usable = CONTROLLERS.filter((controller) => shared.includes(controller));
    if (usable.length === 0 || !canMakeGroups(parent)) continue;
    const base = join(parent, "skerry");
    return { version: 2, directories: new Map(usable.map((controller) => [controller, base])) };
  }
  return undefined;
}

/** Makes version 2's parent, and has it share its controllers with the groups below. */
export function makeUnifiedParent({ directories }: CgroupBase): void {
  for (const [controller, base] of directories) {
    mkdirSync(base, { recursive: true });
    writeFileSync(join(base, "cgroup.subtree_control"), `+${controller}`);
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

interface Mount {
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** What is mounted where, for this process. */
export function readMounts(proc: string): Mount[] {
  return readText(join(proc, "self/mounts"))
    .split("\n")
    .map((line) => line.split(" "))
    .filter((fields) => fields.length >= 4)
    .map(([, path, type, options]) => ({ path: path!, type: type!, options: options!.split(",") }));
}

/** Which group a process is in, by controller; version 2's is named "". */
export function readGroups(proc: string, pid: string): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of readText(join(proc, pid, "cgroup")).split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    for (const controller of controllers!.split(",")) groups.set(controller, path);
  }
  return groups;
}

export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
