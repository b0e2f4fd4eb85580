import { readdir, readFile } from "node:fs/promises";

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
}

/** Private bytes of each topmost process of that name below another one, together with everything below it. */
export async function privateMemoryBelow(parent: number, name: string): Promise<number[]> {
  const processes = await readProcesses();
  const children = new Map<number, number[]>();
  for (const { pid, parent: above } of processes) children.set(above, [...(children.get(above) ?? []), pid]);
  const family = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(family)];
  const below = new Set(family(parent));
  const names = new Map(processes.map((each) => [each.pid, each.name]));
  const roots = processes.filter(
    (each) => below.has(each.pid) && each.name === name && names.get(each.parent) !== name,
  );
  return Promise.all(
    roots.map(async ({ pid }) =>
      (await Promise.all(family(pid).map(privateBytes))).reduce((sum, bytes) => sum + bytes, 0),
    ),
  );
}

async function readProcesses(): Promise<Process[]> {
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const found = await Promise.all(pids.map(readProcess));
  return found.flatMap((process) => process ?? []);
}

async function readProcess(pid: string): Promise<Process | undefined> {
  // A process may end while we look.
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name in brackets may contain anything; the fields after the last bracket do not.
  const end = stat.lastIndexOf(")");
  if (end < 0) return undefined;
  const parent = Number(stat.slice(end + 2).split(" ")[1]);
  return { pid: Number(pid), parent, name: stat.slice(stat.indexOf("(") + 1, end) };
}

/** What only this process has, and what would be free without it. */
async function privateBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return [...text.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)].reduce(
    (sum, [, kib]) => sum + Number(kib) * 1024,
    0,
  );
}

/** Notes by how much our resident memory rose above where it was at the start. */
export async function watchMemory<T>(growths: number[], action: () => Promise<T>): Promise<T> {
  const before = process.memoryUsage.rss();
  let highest = before;
  const look = () => {
    highest = Math.max(highest, process.memoryUsage.rss());
  };
  const timer = setInterval(look, 10);
  try {
    return await action();
  } finally {
    clearInterval(timer);
    look();
    growths.push(highest - before);
  }
}

/** The processes below another one, at any depth. */
export async function descendantsOf(parent: number): Promise<number[]> {
  const processes = await readProcesses();
  const below = new Set([parent]);
  // Until nothing is added: a child may stand before its parent in the list.
  for (let known = 0; known < below.size; ) {
    known = below.size;
    for (const each of processes) if (below.has(each.parent)) below.add(each.pid);
  }
  below.delete(parent);
  return [...below];
}
