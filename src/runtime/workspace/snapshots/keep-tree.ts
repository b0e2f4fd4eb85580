import type { Readable } from "node:stream";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { forEachParallel } from "../../../kit/parallel.js";
import { byteNameOf, textOf } from "../byte-name.js";
import { fileError, quoted, tooLarge } from "../file-errors.js";
import { TREE_MAX_DEPTH, type Tree, type WorkspaceTree } from "../workspace-tree.js";
import { type SnapshotEntry, type SnapshotLimits, tooMany, tooMuch } from "./snapshot.js";
import type { SnapshotContents } from "./snapshot-store.js";
import type { Stage } from "./stage.js";
import { WorkClock } from "./work-clock.js";

/** A link that goes while it is looked at makes a look incomplete. */
const LOOKS = 3;
/** 1901 and 2446: what ext4 can say. */
const EARLIEST_MS = -(2 ** 31) * 1000;
const LATEST_MS = (2 ** 34 - 2 ** 31) * 1000 - 1;
/** The program inside has put something else there, or nothing. */
const GONE: ReadonlySet<string | undefined> = new Set(["FILE_NOT_FOUND", "FILE_TYPE", "PATH_TRAVERSAL"]);

/** How far it is: files and bytes that were read or written. */
export type SnapshotProgress = (progress: { readonly files: number; readonly bytes: number }) => void;

export interface KeepOptions {
  readonly limits: SnapshotLimits;
  /** Paths of temporary files, which are left out. */
  readonly excluded: ReadonlySet<string>;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: SnapshotProgress | undefined;
  /** Left out: ten minutes. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Keeps all of a workspace that may change meanwhile: a file is what was read of it, and one that is gone is left out.
 * Every file is read. Times say nothing: a program can change a file through a mapping, and no time changes with it.
 */
export async function keepTree(
  tree: WorkspaceTree,
  stage: Stage,
  options: KeepOptions,
): Promise<SnapshotContents> {
  const { limits, excluded, signal, onProgress } = options;
  const seen = await lookThrough(tree, limits.maxFiles);
  const nodes = [...seen.nodes.values()].filter(({ path }) => !excluded.has(path));
  const files = nodes.filter(({ type }) => type === "file");
  const meter = new Meter(limits.maxBytes, new WorkClock(signal, options.timeoutMs));
  for (const { path, size } of files) meter.expect(path, size);
  const kept = new Map<string, SnapshotEntry>();
  await forEachParallel(files, async ({ path, mode, mtimeNs }) => {
    try {
      const content = await stage.keep(meter.through(path, () => tree.read(path)));
      kept.set(path, { path, type: "file", mode, mtimeMs: millisecondsOf(mtimeNs), ...content });
      onProgress?.({ files: kept.size, bytes: meter.bytes });
    } catch (error) {
      if (!GONE.has(systemCode(error))) throw error;
    }
  });
  let skipped = seen.skipped.length;
  for (const node of nodes) {
    if (node.type === "directory")
      kept.set(node.path, { path: node.path, type: "directory", mode: node.mode });
    if (node.type !== "symlink") continue;
    const { path, target = "" } = node;
    const text = textOf(target);
    if (byteNameOf(text) === target) kept.set(path, { path, type: "symlink", target: text });
    else skipped++;
  }
  const entries = [...kept.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { entries: standing(entries), skipped };
}

/** What is there, all of it; throws where that is more than may be kept. */
async function lookThrough(tree: WorkspaceTree, maxFiles: number): Promise<Tree> {
  for (let look = 1; ; look++) {
    // One more than fits tells that it does not.
    const seen = await tree.look(maxFiles + 1);
    if (seen.nodes.size + seen.skipped.length > maxFiles) throw tooMany(maxFiles);
    if (!seen.truncated) return seen;
    if (seen.isOnlyTooDeep) throw tooDeep();
    if (look === LOOKS) throw unreadable();
  }
}

/** A time that any file system takes: a program can set one that none does. */
function millisecondsOf(ns: bigint): number {
  const ms = Number(ns / 1000n) / 1000;
  return Math.min(Math.max(ms, EARLIEST_MS), LATEST_MS);
}

/** Only what is in directories that are there as well: the guest may tell of a file beneath a file. */
function standing(entries: readonly SnapshotEntry[]): SnapshotEntry[] {
  const directories = new Set([""]);
  return entries.filter(({ path, type }) => {
    if (!directories.has(path.slice(0, Math.max(0, path.lastIndexOf("/"))))) return false;
    if (type === "directory") directories.add(path);
    return true;
  });
}

/** Counts what arrives, whatever was said before. */
class Meter {
  bytes = 0;
  #expected = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly clock: WorkClock,
  ) {}

  /** Refuses what cannot fit before any of it is read. */
  expect(path: string, size: number): void {
    if (size > this.maxBytes) throw tooLarge(path, this.maxBytes);
    this.#expected += size;
    if (this.#expected > this.maxBytes) throw tooMuch(this.maxBytes);
  }

  async *through(path: string, read: () => Readable): AsyncGenerator<Uint8Array> {
    this.clock.check();
    try {
      for await (const chunk of this.clock.through(read())) {
        this.bytes += chunk.length;
        if (this.bytes > this.maxBytes) throw tooMuch(this.maxBytes);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof Error && "syscall" in error ? fileError(error, path) : error;
    }
  }
}

function tooDeep(): SandboxError {
  return new SandboxError(
    "FILE_TOO_LARGE",
    `${quoted("")} has directories that are more than ${TREE_MAX_DEPTH - 1} deep`,
    { hint: "Remove them, or move them up." },
  );
}

/** Left out, it would be removed when the snapshot is restored. */
function unreadable(): SandboxError {
  return new SandboxError(
    "FILE_DENIED",
    `${quoted("")} cannot be looked through: not all of it may be read`,
    {
      hint: "Look for directories that their owner may not read, and change their mode inside the sandbox.",
    },
  );
}
