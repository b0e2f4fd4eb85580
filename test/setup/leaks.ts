import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** The kernel, and a daemon, take a moment to remove what was just ended. */
const GRACE_MS = 5000;

/**
 * Fails the run when something of it is left. `SKERRY_LEAK_CHECK=warn` only prints: for when other processes use Skerry
 * on the same machine at the same time.
 */
export async function reportLeaks(find: () => string[] | Promise<string[]>): Promise<void> {
  const deadline = Date.now() + GRACE_MS;
  let leaks = await find();
  while (leaks.length > 0 && Date.now() < deadline) {
    await delay(100);
    leaks = await find();
  }
  if (leaks.length === 0) return;
  console.error(`\nThe run left ${leaks.length} thing(s) behind:\n  ${leaks.join("\n  ")}\n`);
  // Vitest only logs what a teardown throws.
  if (process.env.SKERRY_LEAK_CHECK !== "warn") process.exitCode = 1;
}

/** What exists on this host that a test run could leave behind. Each map: identity → description. */
export interface HostState {
  readonly processes: ReadonlyMap<string, ProcessInfo>;
  readonly cgroups: ReadonlySet<string>;
  readonly mounts: ReadonlySet<string>;
  readonly loopDevices: ReadonlySet<string>;
  readonly temporaryFiles: ReadonlySet<string>;
  readonly sockets: ReadonlySet<string>;
}

interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly commandLine: string;
}

const TEMPORARY = ["/tmp", "/var/tmp", "/dev/shm"];
const PODMANS_OWN_GROUP = "conmon";
const OURS = /skerry-guest|\bbwrap\b/;
/** The test runner's own helpers, which end after us. */
const RUNNER = /node_modules\/(vitest|vite|rolldown|esbuild|@esbuild|tinypool)\b|\(vitest \d+\)/;

/** Says what `after` has that `before` had not; `root` is the process whose descendants must be gone. */
export function findLeaks(before: HostState, after: HostState, root: number): string[] {
  const leaks: string[] = [];
  for (const [identity, info] of after.processes) {
    if (before.processes.has(identity) || info.pid === root) continue;
    const descends = isDescendant(info, after.processes, root) && !RUNNER.test(info.commandLine);
    if (descends || OURS.test(info.commandLine))
      leaks.push(`process ${info.pid}: ${info.commandLine.slice(0, 200)}`);
  }
  const sets = [
    ["cgroup", before.cgroups, after.cgroups],
    ["mount", before.mounts, after.mounts],
    ["loop device", before.loopDevices, after.loopDevices],
    ["temporary file", before.temporaryFiles, after.temporaryFiles],
    ["socket", before.sockets, after.sockets],
  ] as const;
  for (const [kind, old, now] of sets) {
    for (const each of now) if (!old.has(each)) leaks.push(`${kind}: ${each}`);
  }
  return leaks.sort();
}

function isDescendant(info: ProcessInfo, all: ReadonlyMap<string, ProcessInfo>, root: number): boolean {
  const byPid = new Map([...all.values()].map((each) => [each.pid, each]));
  for (
    let at: ProcessInfo | undefined = info;
    at !== undefined && at.pid !== at.parent;
    at = byPid.get(at.parent)
  ) {
    if (at.parent === root) return true;
  }
  return false;
}

/** Reads the host's state. Where there is no /proc, there is nothing to compare. */
export function readHostState(): HostState {
  return {
    processes: readProcesses(),
    cgroups: new Set(findCgroups("/sys/fs/cgroup")),
    mounts: new Set(lines("/proc/self/mountinfo").map((line) => line.split(" ").slice(3, 5).join(" on "))),
    loopDevices: new Set(names("/sys/block").filter((name) => backingFile(name) !== undefined)),
    temporaryFiles: new Set(
      TEMPORARY.flatMap((directory) =>
        names(directory)
          .filter((name) => name.startsWith("skerry-"))
          .map((name) => join(directory, name)),
      ),
    ),
    sockets: new Set(
      lines("/proc/net/unix")
        .map((line) => line.split(/\s+/)[7] ?? "")
        .filter((path) => path.includes("skerry")),
    ),
  };
}

/** Temporary files under names that are not ours: of other processes, or of a program that a test ran without walls. */
export function readForeignFiles(): string[] {
  return TEMPORARY.flatMap((directory) =>
    names(directory)
      .filter((name) => !name.startsWith("skerry-"))
      .map((name) => join(directory, name)),
  ).filter((path) => !isOfRunner(path));
}

/** Vitest keeps what it compiled in a directory with a random name until it ends. */
function isOfRunner(path: string): boolean {
  const content = names(path);
  return content.length === 1 && content[0] === "ssr";
}

function readProcesses(): Map<string, ProcessInfo> {
  const found = new Map<string, ProcessInfo>();
  for (const name of names("/proc").filter((each) => /^\d+$/.test(each))) {
    // The name in parentheses may hold anything, also parentheses.
    const stat = text(`/proc/${name}/stat`);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie is gone but for its parent, which may be us.
    if (fields[0] === "" || fields[0] === "Z") continue;
    const commandLine = text(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
    if (commandLine === "") continue;
    found.set(`${name}@${fields[19]}`, { pid: Number(name), parent: Number(fields[1]), commandLine });
  }
  return found;
}

function findCgroups(directory: string, depth = 0): string[] {
  if (depth > 8) return [];
  return entries(directory)
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const path = join(directory, name);
      // A container's group is named by its id, below our parent for all of them, which stays, as does Podman's own there.
      const isOurs =
        name.startsWith("skerry-") || (basename(directory) === "skerry" && name !== PODMANS_OWN_GROUP);
      return isOurs ? [path] : findCgroups(path, depth + 1);
    });
}

function backingFile(device: string): string | undefined {
  return device.startsWith("loop") ? text(`/sys/block/${device}/loop/backing_file`) || undefined : undefined;
}

// What the functions below look at may vanish while we look: then it is not there.

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function lines(path: string): string[] {
  return text(path).split("\n").filter(Boolean);
}

function entries(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

function names(directory: string): string[] {
  return entries(directory).map((entry) => entry.name);
}
