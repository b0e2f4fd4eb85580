import type { Stats } from "node:fs";

/** One file, directory or link of a workspace. */
export interface Entry {
  /** Relative to the workspace. Names come from the guest: show them only after making them visible. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "other";
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  readonly modifiedMs: number;
}

/** Describes what a stat call found, without following anything. */
export function entryOf(path: string, stat: Stats): Entry {
  return { path, type: typeOf(stat), size: stat.size, mode: stat.mode & 0o7777, modifiedMs: stat.mtimeMs };
}

function typeOf(stat: Stats): Entry["type"] {
  if (stat.isFile()) return "file";
  if (stat.isDirectory()) return "directory";
  return stat.isSymbolicLink() ? "symlink" : "other";
}
