import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "./errors.js";
import { isOrphaned, processLabel } from "./process-label.js";

const UNFINISHED = ".new-";
/** Copying a few files takes far less: the process that made it is gone, in whatever container it ran. */
const LONGEST_MS = 60 * 60 * 1000;

/**
 * Puts a directory into `parent`, whole or not at all: `fill` gets an empty one that no other process uses.
 * Several processes may do this at once; the first is kept.
 */
export function installOnce(parent: string, name: string, fill: (directory: string) => void): void {
  if (mkdirSync(parent, { recursive: true }) !== undefined) chmodSync(parent, 0o711);
  const temporary = join(parent, `${UNFINISHED}${processLabel(randomBytes(6).toString("hex"))}`);
  try {
    mkdirSync(temporary);
    fill(temporary);
    chmodSync(temporary, 0o755);
    renameSync(temporary, join(parent, name));
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    const code = systemCode(error);
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}

/** Removes the leftovers of processes that were killed during an installation. */
export function removeUnfinished(parent: string): void {
  for (const name of readNames(parent).filter((each) => each.startsWith(UNFINISHED))) {
    const path = join(parent, name);
    try {
      if (isOrphaned(name.slice(UNFINISHED.length)) || Date.now() - lstatSync(path).mtimeMs > LONGEST_MS)
        rmSync(path, { recursive: true, force: true });
    } catch {
      // Another process removes it, or it cannot be removed: neither is a reason not to start.
    }
  }
}

function readNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
