import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { isOrphaned, processLabel } from "../../src/kit/process-label.js";
import { waitUntil } from "../../src/kit/wait-until.js";

const run = promisify(execFile);
const PREFIX = "skerry-test-";
const STOP_MS = 20_000;
const DAEMONS = /^(dockerd|containerd|runc|runsc|podman|conmon|postgres)/;
const SERVICES = /^(dockerd|podman|postgres)$/;

/** Where a test run's daemon keeps everything. Its name says whose it is. */
export function createDaemonDirectory(): string {
  // Podman takes paths of up to 50 characters: a label without its place, which `isOrphaned` reads too.
  const label = processLabel("").replace(/-[0-9a-f]{16}-$/, "-");
  const directory = mkdtempSync(join("/tmp", PREFIX + label));
  // runsc reaches its files as nobody.
  chmodSync(directory, 0o711);
  return directory;
}

/** Stops and removes the daemons of test runs that were killed. */
export async function removeAbandonedDaemons(): Promise<void> {
  const names = readdirSync("/tmp").filter((name) => name.startsWith(PREFIX));
  for (const name of names.filter((each) => isOrphaned(each.slice(PREFIX.length)))) {
    const directory = join("/tmp", name);
    // An ordinary user leaves what root's runs left.
    if (statSync(directory, { throwIfNoEntry: false })?.uid === process.getuid?.())
      await removeDaemonDirectory(directory);
  }
}

/** With everything that still runs in it: what a killed daemon left mounted would keep its directory. */
export async function removeDaemonDirectory(directory: string): Promise<void> {
  await endProcesses(directory);
  // Deepest first.
  const mounts = lines("/proc/mounts").map((line) => line.split(" ")[1] ?? "");
  for (const path of mounts.filter((each) => each.startsWith(`${directory}/`)).reverse())
    await run("umount", ["-l", path]).catch(() => undefined);
  rmSync(directory, { recursive: true, force: true });
}

/** The daemon ends its containers; what it leaves, or has left when it was killed itself, is killed. */
async function endProcesses(directory: string): Promise<void> {
  const isGone = () => processesOf(directory).length === 0;
  for (const pid of processesOf(directory, SERVICES)) kill(pid, "SIGTERM");
  await waitUntil(() => processesOf(directory, SERVICES).length === 0, STOP_MS).catch(() => undefined);
  await waitUntil(() => {
    for (const pid of processesOf(directory)) kill(pid, "SIGKILL");
    return isGone();
  }, STOP_MS);
}

/** A daemon's processes have its directory in their command line; those in its containers have their root there. */
function processesOf(directory: string, names = DAEMONS): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const [program = "", ...args] = (lines(`/proc/${pid}/cmdline`)[0] ?? "").split("\0");
      if (names.test(basename(program))) return args.some((each) => each.includes(`${directory}/`));
      if (names !== DAEMONS) return false;
      const root = lines(`/proc/${pid}/mountinfo`).find((line) => line.split(" ")[4] === "/");
      return root?.includes(`${directory}/`) === true;
    })
    .map(Number);
}

function kill(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

/** Of a file that may be gone: then none. */
function lines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    return [];
  }
}
