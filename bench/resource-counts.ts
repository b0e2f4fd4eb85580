import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { BenchContext } from "./bench-context.js";
import type { OwnContainers } from "./own-containers.js";
import { descendantsOf } from "./process-memory.js";

export const THINGS = [
  "descriptors",
  "processes",
  "mounts",
  "loop devices",
  "cgroups",
  "containers",
] as const;
export type Thing = (typeof THINGS)[number];

/** What this process and its sandboxes have at a time. */
export interface ResourceCounts extends Readonly<Record<Thing, number>> {
  readonly memoryBytes: number;
  readonly launchers: number;
  /** At most so many of the descriptors are launchers' control sockets and wires. */
  readonly launchersDescriptors: number;
}

/** Launchers without a sandbox leave after two seconds, unused connections to a daemon after five. */
const SETTLE_MS = 3000;
const SETTLED_WITHIN_MS = 20_000;

/** Looks once nothing of it changes any more. */
export async function countResources(
  bench: BenchContext,
  containers: OwnContainers | undefined,
): Promise<ResourceCounts> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const deadline = performance.now() + SETTLED_WITHIN_MS;
  let [seen, since] = ["", performance.now()];
  for (;;) {
    collect();
    const { memoryBytes, ...now } = await look(bench, containers);
    const changed = JSON.stringify(now) !== seen;
    if (changed) [seen, since] = [JSON.stringify(now), performance.now()];
    const isSettled = performance.now() - since > 2 * SETTLE_MS;
    if (isSettled || performance.now() > deadline) return { ...now, memoryBytes };
    await sleep(SETTLE_MS / 4, undefined, { signal: bench.signal });
  }
}

async function look(
  { directory }: BenchContext,
  containers: OwnContainers | undefined,
): Promise<ResourceCounts> {
  const ids = containers?.made ?? new Set<string>();
  const listed = await containers?.list();
  const below = await descendantsOf(process.pid);
  const slots = below.flatMap((pid) => /--launch\0(\d+)\0/.exec(read(`/proc/${pid}/cmdline`))?.[1] ?? []);
  const groups = groupsOf(
    "/sys/fs/cgroup",
    (name) => name.startsWith(`skerry-${process.pid}-`) || ids.has(name),
  );
  const inGroups = groups.flatMap((group) => read(join(group, "cgroup.procs")).split("\n").filter(Boolean));
  return {
    descriptors: readdirSync("/proc/self/fd").length,
    processes: new Set([...below, ...inGroups.map(Number), ...shimsOf(ids)]).size,
    mounts: read("/proc/self/mountinfo")
      .split("\n")
      .filter((line) => line.includes(directory)).length,
    "loop devices": loopDevicesOn(directory),
    cgroups: groups.length,
    containers: listed?.length ?? 0,
    memoryBytes: process.memoryUsage.rss(),
    launchers: slots.length,
    launchersDescriptors: slots.reduce((sum, count) => sum + 1 + Number(count), 0),
  };
}

/** What keeps a container for its daemon. */
function shimsOf(ids: ReadonlySet<string>): number[] {
  return entriesOf("/proc").flatMap(({ name }) => {
    if (!/^\d+$/.test(name)) return [];
    const words = read(`/proc/${name}/cmdline`).split("\0");
    return words[0]?.includes("containerd-shim") && words.some((word) => ids.has(word)) ? Number(name) : [];
  });
}

function loopDevicesOn(directory: string): number {
  const devices = entriesOf("/sys/block").filter(({ name }) => name.startsWith("loop"));
  return devices.filter(({ name }) => read(`/sys/block/${name}/loop/backing_file`).startsWith(directory))
    .length;
}

function groupsOf(directory: string, isOurs: (name: string) => boolean): string[] {
  return entriesOf(directory)
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const path = join(directory, name);
      return [...(isOurs(name) ? [path] : []), ...groupsOf(path, isOurs)];
    });
}

// What the functions below look at may vanish while we look: then it is not there.

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
