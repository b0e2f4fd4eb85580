import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ResourceUsage } from "../../backend.js";
import type { Controller } from "./cgroup-base.js";

type Counted = Pick<ResourceUsage, "cpuTimeMs" | "memoryBytes" | "pids">;

/** The kernel's unit in /proc/<pid>/stat on every architecture we run on. */
const TICK_MS = 10;
/** More processes than any sandbox may have. */
const MAX_PROCESSES = 10_000;

/** What the kernel counts in one sandbox's groups; undefined when memory is not among it, or the groups are gone. */
export async function readCgroupUsage(
  version: 1 | 2,
  directories: ReadonlyMap<Controller, string>,
): Promise<Counted | undefined> {
  const memory = directories.get("memory");
  if (memory === undefined) return undefined;
  const [memoryBytes, cpuTimeMs, pids] = await Promise.all(
    version === 1
      ? [memoryOf(memory, "memory.usage_in_bytes", "total_"), cpuTimeV1(directories), taskCount(memory)]
      : [memoryOf(memory, "memory.current", ""), cpuTimeV2(memory), numberIn(join(memory, "pids.current"))],
  );
  if (memoryBytes === undefined || cpuTimeMs === undefined) return undefined;
  return { cpuTimeMs, memoryBytes, ...(pids !== undefined && { pids }) };
}

/** Without file pages, also active ones: the kernel drops them before it kills, so a copied file does not count. */
async function memoryOf(directory: string, file: string, prefix: string): Promise<number | undefined> {
  const [total, stat] = await Promise.all([
    numberIn(join(directory, file)),
    text(join(directory, "memory.stat")),
  ]);
  if (total === undefined || stat === undefined) return undefined;
  const droppable = fieldIn(stat, `${prefix}inactive_file`) + fieldIn(stat, `${prefix}active_file`);
  return Math.max(0, total - droppable);
}

async function cpuTimeV2(directory: string): Promise<number | undefined> {
  const stat = await text(join(directory, "cpu.stat"));
  return stat === undefined ? undefined : fieldIn(stat, "usage_usec") / 1000;
}

async function cpuTimeV1(directories: ReadonlyMap<Controller, string>): Promise<number | undefined> {
  const accounting = directories.get("cpuacct");
  if (accounting === undefined) return cpuTimeOfProcesses(directories.get("memory")!);
  const nanoseconds = await numberIn(join(accounting, "cpuacct.usage"));
  return nanoseconds === undefined ? undefined : nanoseconds / 1e6;
}

/**
 * The time of every process of the group and of the children it has waited for. A child without a waiting parent, since
 * its parent ignores SIGCHLD, takes its time along.
 */
async function cpuTimeOfProcesses(directory: string): Promise<number | undefined> {
  const pids = (await text(join(directory, "cgroup.procs")))?.match(/^[1-9]\d*$/gm)?.slice(0, MAX_PROCESSES);
  if (pids === undefined) return undefined;
  const times = await Promise.all(pids.map(async (pid) => ticksIn((await text(`/proc/${pid}/stat`)) ?? "")));
  return times.reduce((sum, ticks) => sum + ticks, 0) * TICK_MS;
}

/** The name in parentheses is the program's choice and may hold anything, also parentheses. */
function ticksIn(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, field) => sum + (Number(field) || 0), 0);
}

async function taskCount(directory: string): Promise<number | undefined> {
  return (await text(join(directory, "tasks")))?.match(/\d+/g)?.length;
}

function fieldIn(stat: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1] ?? 0);
}

async function numberIn(path: string): Promise<number | undefined> {
  const found = await text(path);
  return found !== undefined && /^\d+\s*$/.test(found) ? Number(found) : undefined;
}

/** A group that is gone, or a file that this kernel does not have: nothing. */
async function text(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return undefined;
  }
}
