import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";

/**
 * A name that says which process made a thing: `<pid>-<start time>-<id>`. A process that finds the thing later can
 * tell whether its maker still runs, even if the pid was used again.
 */
export function processLabel(id: string): string {
  return `${process.pid}-${ownStartTime()}-${id}`;
}

/** True when the process in the label is gone. False for anything that is not a label. */
export function isOrphaned(label: string): boolean {
  const match = /^(\d{1,10})-(\d{1,20})-/.exec(label);
  if (match === null) return false;
  return startTimeOf(match[1]!) !== match[2];
}

/** How often a living process sends a heartbeat where other processes may not see its pid. */
export const HEARTBEAT_MS = 5000;
const SILENCE_MS = 4 * HEARTBEAT_MS;

/** The same for a directory that containers share: the label also names the pid namespace. */
export function sharedProcessLabel(id: string): string {
  return processLabel(`${pidNamespace()}-${id}`);
}

/**
 * True when the process in a shared label is gone; false for anything that is not one. Containers do not see each
 * other's pids: a process of another pid namespace counts as gone when its last heartbeat (milliseconds since 1970) is old.
 */
export function isSharedOrphan(label: string, lastHeartbeatMs: number): boolean {
  const namespace = /^\d+-\d+-([0-9a-f]{16})-/.exec(label)?.[1];
  if (namespace === undefined) return false;
  if (namespace === pidNamespace()) return isOrphaned(label);
  return Date.now() - lastHeartbeatMs > SILENCE_MS;
}

let cachedBoot: string | undefined;

/** Identifies the current boot of the machine: different after every restart. */
export function bootId(): string {
  cachedBoot ??= digest(readOr("", () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")));
  return cachedBoot;
}

let cachedNamespace: string | undefined;

function pidNamespace(): string {
  cachedNamespace ??= digest(bootId() + readOr("", () => readlinkSync("/proc/self/ns/pid")));
  return cachedNamespace;
}

let cachedStartTime: string | undefined;

function ownStartTime(): string {
  cachedStartTime ??= startTimeOf("self") ?? "0";
  return cachedStartTime;
}

function startTimeOf(pid: string): string | undefined {
  const stat = readOr(undefined, () => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === undefined) return undefined;
  // The name in brackets may contain anything; the fields after the last bracket do not.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie makes nothing any more.
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
}

function readOr<T>(fallback: T, read: () => string): string | T {
  try {
    return read();
  } catch {
    return fallback;
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
