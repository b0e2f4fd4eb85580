import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { promisify } from "node:util";
import type { Capabilities, Probe, ProbeOptions } from "../backend.js";
import { readGroups, readMounts, readText } from "./cgroup/host-groups.js";
import { OLDEST_VERSION, whyNoUsers } from "./explain-start.js";
import { capabilitiesOf, type HostFacts } from "./host-facts.js";
import { readHostSigns } from "./host-signs.js";
import { hasCapability, missingForSandboxes } from "./own-rights.js";
import { tryStart } from "./start-trial.js";
import { findUserRange, type UserRange } from "./user-range.js";

const run = promisify(execFile);
/** A slow host takes a second to start a program; a program that hangs must not keep the doctor from answering. */
const ANSWER_MS = 60_000;

type Problem = Probe["problems"][number];

/** What a backend that uses bubblewrap has been told. */
export interface HostProbeOptions extends ProbeOptions {
  readonly stateDir: string;
  /** Of which root gives every sandbox an id. */
  readonly uidRange: UserRange;
  readonly answerMs?: number;
}

/** Starts a sandbox to see whether that works here; what the host's settings say only explains a failure. */
export async function probeHost(
  facts: HostFacts,
  { thorough = false, answerMs = ANSWER_MS, ...options }: HostProbeOptions,
): Promise<Probe> {
  const capabilities = capabilitiesOf(facts);
  const weak = weaknesses(capabilities, facts);
  const described = (blockers: readonly Problem[], version?: string): Probe => ({
    available: blockers.length === 0,
    ...(version !== undefined && { version }),
    problems: [...blockers, ...weak],
    capabilities,
  });
  if (process.platform !== "linux")
    return described([{ what: "bubblewrap needs Linux", remedy: "Use another backend." }]);
  const { bubblewrap } = facts;
  if (bubblewrap === undefined)
    return described([{ what: "bubblewrap is not installed", remedy: "apt-get install bubblewrap" }]);
  const version = thorough ? await versionOf(bubblewrap, answerMs) : undefined;
  if (thorough) {
    const outdated = { remedy: `Install version ${OLDEST_VERSION} or newer.` };
    if (version === undefined) weak.push({ what: "bubblewrap does not tell its version", ...outdated });
    else if (isOlder(version))
      return described([{ what: `bubblewrap ${version} is too old`, ...outdated }], version);
  }
  const missing = facts.isRoot ? missingForSandboxes() : [];
  if (missing.length > 0) return described([lacksCapabilities(missing)], version);
  const users = facts.isRoot ? findUserRange(options.uidRange) : undefined;
  if (facts.isRoot && users === undefined) return described([whyNoUsers(readHostSigns())], version);
  const trial = await tryStart({
    bubblewrap,
    stateDir: options.stateDir,
    // The last one: sessions take theirs at random.
    uid: users === undefined ? undefined : users.start + users.count - 1,
    again: thorough,
    timeoutMs: answerMs,
  });
  if (trial?.problem !== undefined)
    return {
      ...described([trial.problem], version),
      ...(trial.code !== undefined && { code: trial.code }),
    };
  if (trial?.hasOwnInodes === false) weak.push(sharedInodes(facts));
  return described([], version);
}

function lacksCapabilities(missing: readonly string[]): Problem {
  const names = missing.join(", ");
  return {
    what: `root may not make or end sandboxes of other users here: it has no ${names}`,
    remedy: `Start Skerry, or its container, with ${names}, or run it as an ordinary user.`,
  };
}

function sharedInodes({ isRoot }: HostFacts): Problem {
  return {
    what: "sandboxes share the inodes of /usr: one can watch which programs the host and others start, and signal with locks",
    remedy:
      isRoot && !hasCapability("SYS_ADMIN")
        ? "Run Skerry as an ordinary user, or start its container with CAP_SYS_ADMIN."
        : "Use a kernel that mounts overlays for this user (5.11 or newer for ordinary users).",
  };
}

function weaknesses(capabilities: Capabilities, facts: HostFacts): Problem[] {
  const found: Problem[] = [];
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
  if (facts.imageProblem !== undefined) found.push(facts.imageProblem);
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
