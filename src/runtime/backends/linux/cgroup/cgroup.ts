import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemCode } from "../../../../kit/errors.js";
import { isOrphaned, processLabel } from "../../../../kit/process-label.js";
import type { Limits, ResourceUsage } from "../../backend.js";
import { readCgroupUsage } from "./cgroup-usage.js";

const PREFIX = "skerry-";
const CPU_PERIOD_US = 100_000;

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
function makeUnifiedParent({ directories }: CgroupBase): void {
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

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The groups of one sandbox. */
export class SandboxCgroup {
  readonly #base: CgroupBase;
  readonly #directories: ReadonlyMap<Controller, string>;
  readonly #limits: Limits;
  #memoryKills: number | undefined;
  #cpuTimeMs = 0;

  private constructor(base: CgroupBase, directories: ReadonlyMap<Controller, string>, limits: Limits) {
    this.#base = base;
    this.#directories = directories;
    this.#limits = limits;
  }

  /** Makes them and sets the limits; leaves nothing behind when it throws. */
  static create(base: CgroupBase, id: string, limits: Limits): SandboxCgroup {
    const name = `${PREFIX}${processLabel(id)}`;
    // Memory always, to tell who was killed for it. Processes are limited by the guest's own limit as well, which
    // is enough where a group for them would be one more to make and to remove. CPU time is counted where CPU is
    // limited, most often in the very same group; elsewhere the processes themselves tell it.
    const isCpuLimited = limits.cpus !== undefined;
    const wanted = { memory: true, pids: base.version === 2, cpu: isCpuLimited, cpuacct: isCpuLimited };
    const directories = new Map(
      [...base.directories]
        .filter(([controller]) => wanted[controller])
        .map(([controller, parent]) => [controller, join(parent, name)]),
    );
    const group = new SandboxCgroup(base, directories, limits);
    try {
      if (base.version === 2) makeUnifiedParent(base);
      for (const directory of group.#unique()) mkdirSync(directory);
      group.#setLimits(limits);
    } catch (error) {
      for (const directory of group.#unique()) tryRemove(directory);
      throw error;
    }
    return group;
  }

  /**
   * Files to write "0" into, to move the writer in. Version 1 moves a single thread without stopping every other
   * process of the host for a moment; the launcher has no second one.
   */
  get entryFiles(): string[] {
    const file = this.#base.version === 1 ? "tasks" : "cgroup.procs";
    return this.#unique().map((directory) => join(directory, file));
  }

  /** How many processes the kernel killed here for want of memory; undefined: it does not say. */
  memoryKills(): number | undefined {
    const directory = this.#directories.get("memory");
    if (directory === undefined) return undefined;
    const file = this.#base.version === 1 ? "memory.oom_control" : "memory.events";
    const count = /^oom_kill (\d+)$/m.exec(readText(join(directory, file)))?.[1];
    // The last count still answers when the group is gone.
    if (count !== undefined) this.#memoryKills = Number(count);
    return this.#memoryKills;
  }

  /** What the processes in the groups use now; undefined where nothing counts memory, and once they are gone. */
  async usage(): Promise<ResourceUsage | undefined> {
    const found = await readCgroupUsage(this.#base.version, this.#directories);
    if (found === undefined) return undefined;
    const { memoryMb, pids, cpus } = this.#limits;
    // Processes that tell their own time take it along when they are gone for good.
    this.#cpuTimeMs = Math.max(this.#cpuTimeMs, found.cpuTimeMs);
    return {
      ...found,
      cpuTimeMs: this.#cpuTimeMs,
      ...(memoryMb !== undefined && { memoryLimitBytes: Math.round(memoryMb * 1024 * 1024) }),
      ...(pids !== undefined && { pidsLimit: pids }),
      ...(cpus !== undefined && { cpus }),
    };
  }

  /** Waits until the groups are empty and removes them. A group can stay busy for a moment after its last exit. */
  async remove(): Promise<void> {
    this.memoryKills();
    for (let waitMs = 1; waitMs < 2000; waitMs *= 2) {
      const left = this.#unique().filter((directory) => !tryRemove(directory));
      if (left.length === 0) return;
      for (const directory of left) killAll(directory);
      await sleep(waitMs);
    }
  }

  #unique(): string[] {
    return [...new Set(this.#directories.values())];
  }

  /** Version 1 counts the buffers of sockets apart, and not at all unless they have a limit. */
  #limitSocketMemory(memoryMb: number): void {
    const file = join(this.#directories.get("memory") ?? "", "memory.kmem.tcp.limit_in_bytes");
    if (existsSync(file)) writeFileSync(file, String(Math.round((memoryMb * 1024 * 1024) / 4)));
  }

  #setLimits(limits: Limits): void {
    const set = (controller: Controller, v1: string, v2: string, value: string) => {
      const directory = this.#directories.get(controller);
      if (directory !== undefined) writeFileSync(join(directory, this.#base.version === 1 ? v1 : v2), value);
    };
    if (limits.memoryMb !== undefined) {
      set("memory", "memory.limit_in_bytes", "memory.max", String(Math.round(limits.memoryMb * 1024 * 1024)));
    }
    if (limits.memoryMb !== undefined && this.#base.version === 1) this.#limitSocketMemory(limits.memoryMb);
    if (limits.pids !== undefined) set("pids", "pids.max", "pids.max", String(limits.pids));
    if (limits.cpus !== undefined) {
      const quota = Math.max(1000, Math.round(limits.cpus * CPU_PERIOD_US));
      if (this.#base.version === 1) set("cpu", "cpu.cfs_period_us", "", String(CPU_PERIOD_US));
      set(
        "cpu",
        "cpu.cfs_quota_us",
        "cpu.max",
        this.#base.version === 1 ? String(quota) : `${quota} ${CPU_PERIOD_US}`,
      );
    }
  }
}

/** Removes the groups of processes that are gone; resolves to how many sandboxes that were. */
export async function reapCgroups(base: CgroupBase): Promise<number> {
  const names = new Set<string>();
  for (const directory of new Set(base.directories.values())) {
    for (const name of readDirectory(directory)) {
      if (!name.startsWith(PREFIX) || !isOrphaned(name.slice(PREFIX.length))) continue;
      names.add(name);
      const path = join(directory, name);
      for (let waitMs = 1; existsSync(path) && waitMs < 1000; waitMs *= 2) {
        killAll(path);
        if (!tryRemove(path)) await sleep(waitMs);
      }
    }
  }
  return names.size;
}

function killAll(directory: string): void {
  for (const pid of readText(join(directory, "cgroup.procs")).split("\n")) {
    if (!/^[1-9]\d*$/.test(pid)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch (error) {
      if (systemCode(error) !== "ESRCH") throw error;
    }
  }
}

function tryRemove(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    return systemCode(error) === "ENOENT";
  }
}

function readDirectory(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
