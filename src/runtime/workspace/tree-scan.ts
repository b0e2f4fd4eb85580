import { closeSync, type Dirent, opendirSync } from "node:fs";
import { systemCode } from "../../kit/errors.js";
import { type ByteName, entryPath } from "./byte-name.js";
import { openEntryDirectory } from "./descriptor-walk.js";

export interface ScanLimits {
  readonly maxEntries: number;
  /** 1 is the directory itself; each further level holds one more descriptor open. */
  readonly maxDepth: number;
  /** Reaching `maxDepth` counts as truncation. */
  readonly recursive: boolean;
}

/** Called for each entry, in no order. Answering false keeps the scan out of a directory. */
export type Visit = (handle: string | Buffer, path: ByteName, dirent: Dirent) => boolean;

/** Visits a hostile tree without following links. Returns true when something was left out. */
export function scanTree(rootFd: number, limits: ScanLimits, visit: Visit): boolean {
  let remaining = limits.maxEntries;
  let truncated = false;

  const scan = (fd: number, prefix: ByteName, depth: number): void => {
    const directories = readEntries(fd, prefix);
    for (const name of directories) {
      if (!limits.recursive) return;
      if (depth >= limits.maxDepth || remaining <= 0) {
        truncated = true;
        return;
      }
      const childFd = enter(fd, name);
      if (childFd === undefined) continue;
      try {
        scan(childFd, `${prefix}${name}/`, depth + 1);
      } finally {
        closeSync(childFd);
      }
    }
  };

  // A stream of entries, not readdir: a directory of ten million names must not fill our memory.
  const readEntries = (fd: number, prefix: ByteName): ByteName[] => {
    const directories: ByteName[] = [];
    const stream = openEntries(fd);
    if (stream === undefined) {
      truncated = true;
      return directories;
    }
    try {
      for (let dirent = stream.readSync(); dirent !== null; dirent = stream.readSync()) {
        if (remaining-- <= 0) {
          truncated = true;
          break;
        }
        if (look(fd, prefix, dirent) && dirent.isDirectory()) directories.push(dirent.name);
      }
    } finally {
      stream.closeSync();
    }
    return directories;
  };

  const look = (fd: number, prefix: ByteName, dirent: Dirent): boolean => {
    try {
      return visit(entryPath(fd, dirent.name), prefix + dirent.name, dirent);
    } catch (error) {
      // A directory that can be read but not searched shows names only.
      if (systemCode(error) !== "EACCES") throw error;
      truncated = true;
      return false;
    }
  };

  const enter = (fd: number, name: ByteName): number | undefined => {
    try {
      return openEntryDirectory(entryPath(fd, name));
    } catch (error) {
      // Gone, or no directory any more: the guest is at work. Anything else hides something from us.
      if (systemCode(error) !== "ENOENT" && systemCode(error) !== "ENOTDIR") truncated = true;
      return undefined;
    }
  };

  scan(rootFd, "", 1);
  return truncated;
}

/** The entries of an open directory, as bytes; undefined where we may not read it. */
export function openEntries(fd: number) {
  try {
    return opendirSync(`/proc/self/fd/${fd}`, { encoding: "latin1" });
  } catch (error) {
    if (systemCode(error) === "EACCES") return undefined;
    throw error;
  }
}
