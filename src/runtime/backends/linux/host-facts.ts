import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { promisify } from "node:util";
import type { Capabilities, Probe, ProbeOptions } from "../backend.js";
import type { CgroupBase } from "./cgroup/cgroup-base.js";
import { readGroups, readMounts, readText } from "./cgroup/host-groups.js";
import type { OpenedCgroups } from "./cgroup/open-cgroups.js";

const run = promisify(execFile);
export const OLDEST_VERSION = "0.8";
/** A slow host takes a second to start a program; a program that hangs must not keep the doctor from answering. */
const ANSWER_MS = 60_000;
const USUAL_PATHS = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/** What the backend needs to know about this host, found once. */
export interface HostFacts {
  readonly bubblewrap: string | undefined;
  readonly isRoot: boolean;
  readonly cgroups: CgroupBase | undefined;
  /** Why there are none. */
  readonly cgroupProblem?: OpenedCgroups["problem"];
  readonly canMountImages: boolean;
}

/** `cgroups`: what `openCgroups` found, for a backend that makes groups. */
export function findHostFacts(path: string | undefined, { base, problem }: OpenedCgroups = {}): HostFacts {
  const isRoot = process.getuid?.() === 0;
  return {
    bubblewrap: (path === undefined ? USUAL_PATHS : [path]).find(isExecutable),
    isRoot,
    cgroups: base,
    ...(problem !== undefined && { cgroupProblem: problem }),
    canMountImages: isRoot && existsSync("/dev/loop-control") && findMke2fs() !== undefined,
  };
}

export function findMke2fs(): string | undefined {
  return ["/sbin/mke2fs", "/usr/sbin/mke2fs"].find(isExecutable);
}

export function capabilitiesOf(facts: HostFacts): Capabilities {
  return {
    isolates: true,
    network: "per-host",
    memoryLimit: facts.cgroups?.directories.has("memory") ?? false,
    cpuLimit: facts.cgroups?.directories.has("cpu") ?? false,
    pidsLimit: true,
    fileSizeLimit: true,
    openFilesLimit: true,
    workspaceLimit: facts.canMountImages,
    terminal: true,
    sharedWorkspace: true,
    diesWithHost: true,
    cells: true,
  };
}

export async function probeHost(
  facts: HostFacts,
  { thorough = false }: ProbeOptions,
  answerMs = ANSWER_MS,
): Promise<Probe> {
  const capabilities = capabilitiesOf(facts);
  const problems: { what: string; remedy: string }[] = [];
  const weak = weaknesses(capabilities, facts);
  let version: string | undefined;
  if (process.platform !== "linux")
    problems.push({ what: "bubblewrap needs Linux", remedy: "Use another backend." });
  if (facts.bubblewrap === undefined) {
    problems.push({ what: "bubblewrap is not installed", remedy: "apt-get install bubblewrap" });
  } else if (thorough) {
    version = await versionOf(facts.bubblewrap, answerMs);
    const outdated = { remedy: `Install version ${OLDEST_VERSION} or newer.` };
    if (version === undefined) weak.push({ what: "bubblewrap does not tell its version", ...outdated });
    else if (isOlder(version)) problems.push({ what: `bubblewrap ${version} is too old`, ...outdated });
  }
  const namespaces = namespaceProblem();
  if (namespaces !== undefined) problems.push(namespaces);
  const available = problems.length === 0;
  problems.push(...weak);
  return { available, ...(version !== undefined && { version }), problems, capabilities };
}

function weaknesses(capabilities: Capabilities, facts: HostFacts): { what: string; remedy: string }[] {
  const found: { what: string; remedy: string }[] = [];
  if (!capabilities.memoryLimit) {
    const { what, remedy } = facts.cgroupProblem ?? {
      what: "no writable control group",
      remedy: "Run as root.",
    };
    found.push({ what: `memory and CPU limits cannot be enforced: ${what}`, remedy });
  } else if (!capabilities.cpuLimit) {
    found.push({
      what: "CPU limits cannot be enforced, and one sandbox can slow another down: no cpu controller was given to us",
      remedy: facts.isRoot
        ? "Start Skerry in a service with Delegate=yes."
        : "As root: systemctl edit user@.service, with Delegate=cpu memory pids in [Service]; then log in again.",
    });
  }
  if (capabilities.memoryLimit && hasUnlimitedSwap()) {
    found.push({
      what: "memory limits do not hold for what is swapped out: the kernel does not account for swap",
      remedy: "Boot with swapaccount=1, or switch swap off: swapoff -a",
    });
  }
  if (!capabilities.workspaceLimit) {
    found.push({
      what: "the size of a workspace cannot be limited",
      remedy: facts.isRoot
        ? "Loop devices and e2fsprogs are needed: apt-get install e2fsprogs"
        : "Run as root.",
    });
  }
  return found;
}

/** Whether this host has swap, and no way to count it per group. */
export function hasUnlimitedSwap(proc = "/proc"): boolean {
  const hasSwap = readText(`${proc}/swaps`).trim().split("\n").length > 1;
  if (!hasSwap) return false;
  const memory = readMounts(proc).find(
    ({ type, options }) => type === "cgroup" && options.includes("memory"),
  );
  if (memory !== undefined) return !existsSync(`${memory.path}/memory.memsw.limit_in_bytes`);
  const unified = readMounts(proc).find(({ type }) => type === "cgroup2");
  if (unified === undefined) return false;
  // Version 2's root group has none of the files: the groups below it tell.
  const own = readGroups(proc, "self").get("") ?? "/";
  const groups = own === "/" ? namesIn(unified.path).map((name) => `/${name}`) : [own];
  const limited = groups.filter((group) => own !== "/" || existsSync(`${unified.path}${group}/memory.max`));
  return limited.some((group) => !existsSync(`${unified.path}${group}/memory.swap.max`));
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Why an unprivileged user namespace cannot be made here, or undefined. */
export function namespaceProblem(read = readNumber): { what: string; remedy: string } | undefined {
  if (read("/proc/sys/user/max_user_namespaces") === 0) {
    return { what: "user namespaces are switched off", remedy: "sysctl -w user.max_user_namespaces=15000" };
  }
  if (read("/proc/sys/kernel/unprivileged_userns_clone") === 0) {
    return {
      what: "user namespaces are switched off for ordinary users",
      remedy: "sysctl -w kernel.unprivileged_userns_clone=1",
    };
  }
  if (read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === 1) {
    return {
      what: "AppArmor restricts user namespaces",
      remedy:
        "Add an AppArmor profile for bwrap, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    };
  }
  if (!existsSync("/proc/self/ns/user")) {
    return { what: "this kernel has no user namespaces", remedy: "Use a kernel with CONFIG_USER_NS." };
  }
  return undefined;
}

function readNumber(path: string): number | undefined {
  try {
    return Number(readFileSync(path, "utf8").trim());
  } catch {
    return undefined;
  }
}

async function versionOf(path: string, answerMs: number): Promise<string | undefined> {
  try {
    const { stdout } = await run(path, ["--version"], { timeout: answerMs, env: {} });
    return /(\d+\.\d+(?:\.\d+)?)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

function isOlder(version: string): boolean {
  return version.localeCompare(OLDEST_VERSION, "en", { numeric: true }) < 0;
}

/** A program that only root or this user could have put there. */
function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    const stat = statSync(path);
    return stat.isFile() && (stat.mode & 0o002) === 0;
  } catch {
    return false;
  }
}
