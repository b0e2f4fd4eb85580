import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { forEachParallel } from "../../../kit/parallel.js";
import { byteNameOf } from "../byte-name.js";
import { quoted } from "../file-errors.js";
import { TimeSlice } from "../time-slice.js";
import type { Tree, TreeNode, WorkspaceTree } from "../workspace-tree.js";
import { Clearing } from "./clear-tree.js";
import type { SnapshotProgress } from "./keep-tree.js";
import type { Content, SnapshotEntry, SnapshotLimits } from "./snapshot.js";
import { WorkClock } from "./work-clock.js";

/** What bringing a snapshot back came to, counted in files, directories and links. */
export interface RestoreReport {
  /** Made, or changed in any way. */
  readonly written: number;
  readonly removed: number;
  readonly unchanged: number;
  /** What is not as the snapshot has it, and why; the first hundred. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

export interface RestoreTreeOptions {
  readonly limits: SnapshotLimits;
  /** Paths that are neither written nor removed. */
  readonly isProtected: (path: string) => boolean;
  readonly content: (content: Content) => Readable;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: SnapshotProgress | undefined;
  /** Left out: ten minutes. */
  readonly timeoutMs?: number | undefined;
}

const MOST_SKIPPED = 100;
const TIME_SLACK_NS = 1_000_000n;

/**
 * Makes a workspace what a snapshot has: what is not in it goes, what differs is written, what is equal stays. Fails
 * where that cannot be done; to do it again goes on from there.
 */
export async function restoreTree(
  tree: WorkspaceTree,
  entries: AsyncIterable<SnapshotEntry>,
  options: RestoreTreeOptions,
): Promise<RestoreReport> {
  const wanted = new Map<string, SnapshotEntry>();
  for await (const entry of entries) wanted.set(entry.path, entry);
  return new Restoring(tree, wanted, options).run();
}

class Restoring {
  readonly #isProtected: (path: string) => boolean;
  readonly #clock: WorkClock;
  readonly #skipped = new Map<string, string>();
  readonly #written = new Set<string>();
  #bytes = 0;

  constructor(
    private readonly tree: WorkspaceTree,
    private readonly wanted: Map<string, SnapshotEntry>,
    private readonly options: RestoreTreeOptions,
  ) {
    this.#isProtected = remembered(options.isProtected);
    this.#clock = new WorkClock(options.signal, options.timeoutMs);
  }

  async run(): Promise<RestoreReport> {
    const clearing = new Clearing(this.tree, this.wanted, {
      isProtected: this.#isProtected,
      limits: this.options.limits,
      clock: this.#clock,
    });
    const seen = await clearing.run();
    for (const [path, reason] of clearing.kept) this.#skipped.set(path, reason);
    const entries: SnapshotEntry[] = [];
    const slice = new TimeSlice();
    for (const entry of this.wanted.values()) {
      if (await this.#mayWrite(entry, seen)) entries.push(entry);
      await slice.pass();
    }
    const directories = entries.filter((entry) => entry.type === "directory");
    const files = entries.filter((entry) => entry.type === "file");
    const links = entries.filter((entry) => entry.type === "symlink");

    const missing = directories.filter(({ path }) => !seen.nodes.has(path));
    await this.tree.makeDirectories(missing.map(({ path }) => path));
    await forEachParallel(files, (file) => this.#bringFile(file, seen.nodes.get(file.path)));
    const changed = links.filter((link) => !isAlike(link, seen.nodes.get(link.path)));
    await this.tree.link(changed.map(({ path, target }) => ({ path, target: byteNameOf(target) })));
    await this.tree.setTimes(this.#untimely(files, seen));
    await this.tree.setModes(this.#unlikeModes(files, seen, clearing.opened));
    for (const { path } of [...missing, ...changed]) this.#written.add(path);
    await this.#verify(entries, clearing);
    // From the bottom up, and last: their modes may keep everyone out afterwards.
    const closing = this.#unlikeModes(directories, seen, clearing.opened);
    await this.tree.setModes([...closing, ...this.#openedOthers(clearing.opened)].sort(fromBottom));

    const unchanged = entries.length - this.#written.size;
    const skipped = [...this.#skipped].slice(0, MOST_SKIPPED).map(([path, reason]) => ({ path, reason }));
    return { written: this.#written.size, removed: clearing.removed, unchanged, skipped };
  }

  /** False: it is left as it is, which is told where it differs. */
  async #mayWrite(entry: SnapshotEntry, seen: Tree): Promise<boolean> {
    const { path } = entry;
    const above = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    if (this.#skipped.has(path)) return false;
    if (above !== "" && this.#skipped.has(above)) {
      this.#skipped.set(path, "The directory that it belongs into is left as it is");
      return false;
    }
    if (!this.#isProtected(path)) return true;
    const isEqual =
      isAlike(entry, seen.nodes.get(path)) &&
      (entry.type !== "file" || (await this.#hashOf(path, entry.size)) === entry.sha256);
    if (!isEqual) this.#skipped.set(path, "denyWrite protects it");
    return false;
  }

  async #bringFile(file: SnapshotEntry & { type: "file" }, there: TreeNode | undefined): Promise<void> {
    const { path, mode, size, sha256 } = file;
    this.#clock.check();
    const isSame =
      there?.type === "file" && there.size === size && (await this.#hashOf(path, size)) === sha256;
    if (!isSame) {
      const content = this.options.content({ sha256, size });
      try {
        // Its owner must be able to set its time; the mode comes after that.
        const timely = Readable.from(this.#clock.through(content), { objectMode: false });
        await this.tree.write({ path, mode: mode | 0o600 }, timely);
      } finally {
        content.destroy();
      }
      this.#written.add(path);
    }
    this.#bytes += size;
    this.options.onProgress?.({ files: this.#written.size, bytes: this.#bytes });
  }

  /** Undefined: it has changed since it was listed, and is rewritten. */
  async #hashOf(path: string, size: number): Promise<string | undefined> {
    const hash = createHash("sha256");
    let length = 0;
    try {
      for await (const chunk of this.#clock.through(this.tree.read(path))) {
        length += chunk.length;
        if (length > size) return undefined;
        hash.update(chunk);
      }
      return hash.digest("hex");
    } catch (error) {
      this.#clock.check();
      const code = systemCode(error);
      if (code === "SANDBOX_LOST" || code === "SANDBOX_NOT_RUNNING") throw error;
      return undefined;
    }
  }

  #untimely(files: readonly (SnapshotEntry & { type: "file" })[], seen: Tree) {
    return files.flatMap(({ path, mtimeMs }) => {
      const mtimeNs = BigInt(Math.round(mtimeMs * 1000)) * 1000n;
      const there = seen.nodes.get(path);
      const difference = there === undefined ? undefined : there.mtimeNs - mtimeNs;
      const isTimely =
        difference !== undefined &&
        difference < TIME_SLACK_NS &&
        difference > -TIME_SLACK_NS &&
        !this.#written.has(path);
      return isTimely ? [] : [{ path, mtimeNs }];
    });
  }

  #unlikeModes(
    entries: readonly (SnapshotEntry & { type: "file" | "directory" })[],
    seen: Tree,
    opened: ReadonlyMap<string, number>,
  ) {
    return entries.filter(({ path, mode }) => {
      const isUnlike = (opened.get(path) ?? seen.nodes.get(path)?.mode) !== mode;
      if (isUnlike) this.#written.add(path);
      return opened.has(path) || this.#written.has(path);
    });
  }

  /** Directories that stay though the snapshot does not have them, as they were. */
  #openedOthers(opened: ReadonlyMap<string, number>) {
    const isKept = (path: string) => this.#skipped.has(path) && this.wanted.get(path)?.type !== "directory";
    return [...opened]
      .filter(([path]) => isKept(path))
      .map(([path, mode]) => ({ path, mode, type: "directory" as const }));
  }

  /** What the guest, or a program that goes on, has made of it. */
  async #verify(entries: readonly SnapshotEntry[], clearing: Clearing): Promise<void> {
    const now = await clearing.look();
    const [stranger] = await clearing.strangers(now);
    const unlike = entries.find((entry) => {
      const node = now.nodes.get(entry.path);
      return entry.type === "directory" ? node?.type !== "directory" : !isAlike(entry, node);
    });
    const path = unlike?.path ?? stranger?.path;
    if (path === undefined) return;
    throw new SandboxError("FILE_FAILED", `${quoted(path)} is not as the snapshot has it`, {
      hint: "Something inside changes files, or its disk is full. Restore it again when that has ended.",
    });
  }
}

function fromBottom(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? 1 : -1;
}

/** Asks once for each path: the rules are globs, and a tree is gone through several times. */
function remembered(ask: (path: string) => boolean): (path: string) => boolean {
  const answers = new Map<string, boolean>();
  return (path) => {
    const answer = answers.get(path) ?? ask(path);
    answers.set(path, answer);
    return answer;
  };
}

/** True when nothing but the content could differ. */
function isAlike(entry: SnapshotEntry, node: TreeNode | undefined): boolean {
  if (node?.type !== entry.type) return false;
  if (entry.type === "symlink") return node.target === byteNameOf(entry.target);
  return node.mode === entry.mode && (entry.type === "directory" || node.size === entry.size);
}
