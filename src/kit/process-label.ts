import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";

/** `<pid>-<start time>-<boot><pid namespace>-`; labels of earlier versions end after the start time. */
const LABEL = /^(\d{1,10})-(\d{1,20})-(?:([0-9a-f]{8})([0-9a-f]{8})-)?/;

/**
 * A name that says which process made a thing: `<pid>-<start time>-<place>-<id>`, where the place is this boot and pid
 * namespace. A process that finds the thing later can tell whether its maker still runs, even if the pid was used again.
 */
export function processLabel(id: string): string {
  return `${process.pid}-${ownStartTime()}-${ownPlace()}-${id}`;
}

/**
 * True when the process in the label is gone. False for anything that is not a label, and for a process of another pid
 * namespace: its pid means nothing here.
 */
export function isOrphaned(label: string): boolean {
  const [, pid, startTime, boot, namespace] = LABEL.exec(label) ?? [];
  if (pid === undefined) return false;
  if (boot !== undefined) {
    // No process outlives its boot.
    if (boot !== ownPlace().slice(0, 8)) return true;
    if (namespace !== ownPlace().slice(8)) return false;
  }
  return startTimeOf(pid) !== startTime;
}

/** True for a label that another boot or pid namespace gave: whether its maker runs cannot be told from its pid. */
export function isFromElsewhere(label: string): boolean {
  const [, , , boot, namespace] = LABEL.exec(label) ?? [];
  return boot !== undefined && `${boot}${namespace}` !== ownPlace();
}

/** How often a living process sends a heartbeat where other processes may not see its pid. */
export const HEARTBEAT_MS = 5000;
const SILENCE_MS = 4 * HEARTBEAT_MS;

/**
 * The same for a directory that containers and machines share: a process of another pid namespace or boot counts as gone
 * when its last heartbeat (milliseconds since 1970) is old.
 */
export function isSharedOrphan(label: string, lastHeartbeatMs: number): boolean {
  const [, , , boot, namespace] = LABEL.exec(label) ?? [];
  if (namespace === undefined) return false;
  if (`${boot}${namespace}` === ownPlace()) return isOrphaned(label);
  return Date.now() - lastHeartbeatMs > SILENCE_MS;
}

let cachedBoot: string | undefined;

/** Identifies the current boot of the machine: different after every restart. */
export function bootId(): string {
  cachedBoot ??= digest(readOr("", () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")));
  return cachedBoot;
}

let cachedPlace: string | undefined;

/** This boot and, within it, the pid namespace by the number that the kernel gives it: eight digits of each digest. */
function ownPlace(): string {
  if (cachedPlace === undefined) {
    const namespace = readOr("", () => readlinkSync("/proc/self/ns/pid"));
    cachedPlace = bootId().slice(0, 8) + digest(bootId() + namespace).slice(0, 8);
  }
  return cachedPlace;
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
