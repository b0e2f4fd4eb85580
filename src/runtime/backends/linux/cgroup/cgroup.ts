import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemCode } from "../../../../kit/errors.js";
import { isFromElsewhere, isOrphaned, processLabel } from "../../../../kit/process-label.js";
import type { Limits, ResourceUsage } from "../../backend.js";
import { type CgroupBase, type Controller, makeUnifiedParent, removeUnifiedParent } from "./cgroup-base.js";
import { readCgroupUsage } from "./cgroup-usage.js";
import { readText } from "./host-groups.js";

const PREFIX = "skerry-";
const CPU_PERIOD_US = 100_000;
/** How often a group is tried before its sandbox counts as stopped: 1, 2, 4 … ms apart, about two seconds in all. */
const TRIES = 11;
/** A maker that we cannot see puts a process into its group right away: one that is empty for so long has lost it. */
const EMPTY_MS = 10 * 60 * 1000;
/** Another process may remove version 2's parent just when it is to get a group. */
const MOST_ROUNDS = 100;

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
    // Memory always, to tell who was killed for it; CPU always, since the kernel shares it out equally among groups, and
    // only without one among all processes. Processes are limited by the guest's own limit as well, which is enough where
    // a group for them would be one more to make and to remove. CPU time is counted where CPU is limited, or where that
    // takes no further group; elsewhere the processes themselves tell it.
    const countsTime =
      limits.cpus !== undefined || base.directories.get("cpuacct") === base.directories.get("cpu");
    const wanted = { memory: true, pids: base.version === 2, cpu: true, cpuacct: countsTime };
    const directories = new Map(
      [...base.directories]
        .filter(([controller]) => wanted[controller])
        .map(([controller, parent]) => [controller, join(parent, name)]),
    );
    const group = new SandboxCgroup(base, directories, limits);
    try {
      for (const directory of group.#unique()) makeGroup(base, directory);
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

  /**
   * Waits until the groups are empty and removes them. A group can stay busy for a moment after its last exit; one that
   * stays busy for longer, with a process that the kernel cannot end yet, is removed in the background.
   */
  async remove(): Promise<void> {
    this.memoryKills();
    if (await removeGroups(this.#unique(), TRIES)) return this.#removeParent();
    process.emitWarning(
      "A sandbox's control group is still busy: the kernel has not ended its processes yet. It is removed in the background.",
      { code: "SKERRY_CGROUP_BUSY" },
    );
    this.#removeLater(2000);
  }

  #removeLater(waitMs: number): void {
    // Our process may end before that: the next one finds the group by its label.
    setTimeout(async () => {
      if (await removeGroups(this.#unique(), 1)) this.#removeParent();
      else this.#removeLater(Math.min(waitMs * 2, 60_000));
    }, waitMs).unref();
  }

  #removeParent(): void {
    if (this.#base.version === 2) removeUnifiedParent(this.#base);
  }

  #unique(): string[] {
    return [...new Set(this.#directories.values())];
  }

  /** What is swapped out counts too. A kernel that does not account for swap has no such file: the probe says so. */
  #limitSwap(memoryMb: number): void {
    const bytes = String(Math.round(memoryMb * 1024 * 1024));
    const [file, value] =
      this.#base.version === 1 ? ["memory.memsw.limit_in_bytes", bytes] : ["memory.swap.max", "0"];
    const path = join(this.#directories.get("memory") ?? "", file);
    if (existsSync(path)) writeFileSync(path, value);
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
    if (limits.memoryMb !== undefined) this.#limitSwap(limits.memoryMb);
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
      if (!name.startsWith(PREFIX)) continue;
      const [label, path] = [name.slice(PREFIX.length), join(directory, name)];
      if (isFromElsewhere(label)) {
        if (isLongEmpty(path) && tryRemove(path)) names.add(name);
      } else if (isOrphaned(label)) {
        names.add(name);
        await removeGroups([path], TRIES);
      }
    }
  }
  return names.size;
}

/** False: one of them is still busy. */
async function removeGroups(directories: readonly string[], tries: number): Promise<boolean> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const left = directories.filter((directory) => !tryRemove(directory));
    if (left.length === 0) return true;
    for (const directory of left) killAll(directory);
    await sleep(2 ** attempt);
  }
  return directories.every(tryRemove);
}

function makeGroup(base: CgroupBase, directory: string): void {
  for (let round = 1; ; round++) {
    try {
      if (base.version === 2) makeUnifiedParent(base);
      return mkdirSync(directory);
    } catch (error) {
      if (base.version === 1 || systemCode(error) !== "ENOENT" || round === MOST_ROUNDS) throw error;
    }
  }
}

function isLongEmpty(directory: string): boolean {
  const made = statSync(directory, { throwIfNoEntry: false })?.ctimeMs;
  const isEmpty = readText(join(directory, "cgroup.procs")).trim() === "";
  return isEmpty && made !== undefined && Date.now() - made > EMPTY_MS;
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
