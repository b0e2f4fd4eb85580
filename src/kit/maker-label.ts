import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { isOrphaned, labelFor } from "./process-label.js";

/** How often a living process gives a sign of life where others cannot look for its pid. */
export const HEARTBEAT_MS = 5000;
const SILENCE_MS = 4 * HEARTBEAT_MS;

/** A name that says which process made a thing, and where its pid means something. */
export function makerLabel(id: string): string {
  return labelFor(`${pidSpace()}-${id}`);
}

/**
 * True when the process in the label is gone; false for anything that is no label. Containers that share a directory do not see each other's pids: there a
 * maker counts as gone when its last sign of life (milliseconds since 1970) is old.
 */
export function isMakerGone(label: string, lastSignMs: number): boolean {
  const space = /^\d+-\d+-([0-9a-f]{16})-/.exec(label)?.[1];
  if (space === undefined) return false;
  if (space === pidSpace()) return isOrphaned(label);
  return Date.now() - lastSignMs > SILENCE_MS;
}

let boot: string | undefined;
let space: string | undefined;

/** Names this run of the machine: another after every restart. */
export function bootId(): string {
  boot ??= digest(read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")));
  return boot;
}

function pidSpace(): string {
  space ??= digest(bootId() + read(() => readlinkSync("/proc/self/ns/pid")));
  return space;
}

function read(action: () => string): string {
  try {
    return action();
  } catch {
    return "";
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
