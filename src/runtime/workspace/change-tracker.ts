import { lstatSync } from "node:fs";
import { type ByteName, byteNameOf, textOf } from "./byte-name.js";
import type { WorkspaceHandle } from "./descriptor-walk.js";
import { fileError } from "./file-errors.js";
import { scanTree, type Visit } from "./tree-scan.js";

/** Covers the kernel's coarse clock, which stamps files up to one tick late. */
const CLOCK_SLACK_NS = 20_000_000n;

interface Fingerprint {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  /** The guest can set the time of modification, but not this one. */
  readonly ctimeNs: bigint;
}

/** What the regular files and symbolic links of a workspace looked like at one moment. */
export interface Snapshot {
  readonly files: ReadonlyMap<ByteName, Fingerprint>;
  /** True when the workspace holds more, or is deeper, than was looked at. */
  readonly truncated: boolean;
  readonly takenAtNs: bigint;
}

export interface TrackingOptions {
  readonly maxEntries?: number;
  readonly maxDepth?: number;
  /** Paths left out, with everything beneath them. */
  readonly excluded?: readonly string[];
}

/** Workspace-relative paths, sorted. */
export interface FileChanges {
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  /** True when a snapshot was truncated: what is listed did happen, but there may be more. */
  readonly truncated: boolean;
}

/** Records what is in the workspace; about 20 µs when it is empty, and 5 µs for each file. */
export function takeSnapshot(workspace: WorkspaceHandle, options: TrackingOptions = {}): Snapshot {
  const takenAtNs = BigInt(Date.now()) * 1_000_000n;
  const files = new Map<ByteName, Fingerprint>();
  const excluded = options.excluded?.length ? new Set(options.excluded.map(byteNameOf)) : undefined;
  const limits = {
    maxEntries: options.maxEntries ?? 20_000,
    maxDepth: options.maxDepth ?? 64,
    recursive: true,
  };
  const visit: Visit = (handle, path, dirent) => {
    if (excluded?.has(path)) return false;
    if (dirent.isDirectory()) return true;
    if (!dirent.isFile() && !dirent.isSymbolicLink()) return false;
    const stat = lstatSync(handle, { bigint: true, throwIfNoEntry: false });
    if (stat !== undefined) {
      const { ino, size, mtimeNs, ctimeNs } = stat;
      files.set(path, { ino, size, mtimeNs, ctimeNs });
    }
    return false;
  };
  try {
    return { files, truncated: scanTree(workspace.descriptor, limits, visit), takenAtNs };
  } catch (error) {
    throw fileError(error, "");
  }
}

/** Says what changed between two snapshots. A renamed file is one deleted and one created. */
export function diffSnapshots(
  before: Snapshot,
  after: Snapshot,
  options: { readonly excluded?: readonly string[] } = {},
): FileChanges {
  const created: string[] = [];
  const modified: string[] = [];
  const deleted: string[] = [];
  const excluded = (options.excluded ?? []).map(byteNameOf);
  const counts = (path: ByteName) => !excluded.some((out) => path === out || path.startsWith(`${out}/`));

  for (const [path, now] of after.files) {
    const then = before.files.get(path);
    if (then === undefined) {
      // A file that a truncated snapshot did not see is new only if it has changed since.
      if (before.truncated && now.ctimeNs < before.takenAtNs - CLOCK_SLACK_NS) continue;
      if (counts(path)) created.push(textOf(path));
    } else if (!isSame(then, now) && counts(path)) {
      modified.push(textOf(path));
    }
  }
  // What a truncated snapshot did not see may still be there.
  if (!after.truncated) {
    for (const path of before.files.keys()) {
      if (!after.files.has(path) && counts(path)) deleted.push(textOf(path));
    }
  }
  return {
    created: created.sort(),
    modified: modified.sort(),
    deleted: deleted.sort(),
    truncated: before.truncated || after.truncated,
  };
}

function isSame(a: Fingerprint, b: Fingerprint): boolean {
  return a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}
