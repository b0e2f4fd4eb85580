import { SandboxError } from "../../../kit/errors.js";
import { quoted } from "../file-errors.js";
import { TimeSlice } from "../time-slice.js";
import type { Tree, TreeNode, WorkspaceTree } from "../workspace-tree.js";
import type { SnapshotEntry, SnapshotLimits } from "./snapshot.js";
import type { WorkClock } from "./work-clock.js";

export interface ClearingOptions {
  readonly limits: SnapshotLimits;
  readonly isProtected: (path: string) => boolean;
  readonly clock: WorkClock;
}

type Doomed = Pick<TreeNode, "path" | "type">;

/** A tree is looked through again and again while it is too large to be seen at once, or closed to us. */
const MOST_ROUNDS = 100;

/** Takes everything out of a workspace that a snapshot does not have, or has as something else. */
export class Clearing {
  /** How much has gone. */
  removed = 0;
  /** What stays though it should not, and why. */
  readonly kept = new Map<string, string>();
  /** The modes of directories that had to be opened. */
  readonly opened = new Map<string, number>();

  constructor(
    private readonly tree: WorkspaceTree,
    private readonly wanted: ReadonlyMap<string, SnapshotEntry>,
    private readonly options: ClearingOptions,
  ) {}

  /** Resolves to what is there afterwards. */
  async run(): Promise<Tree> {
    let before: readonly Doomed[] = [];
    for (let round = 0; round < MOST_ROUNDS; round++) {
      this.options.clock.check();
      const seen = await this.look();
      if (await this.#open(seen)) continue;
      const doomed = await this.strangers(seen);
      const left = new Set(doomed.map(({ path }) => path));
      const gone = before.filter(({ path }) => !left.has(path)).length;
      this.removed += gone;
      if (doomed.length === 0 && !seen.truncated) return seen;
      if (doomed.length === 0 || (before.length > 0 && gone === 0)) break;
      await this.#remove(doomed, seen);
      before = doomed;
    }
    throw new SandboxError("FILE_FAILED", `${quoted("")} could not be cleared`, {
      hint: "Programs inside may add files as fast as they are removed, or keep some from being seen. End them first.",
    });
  }

  /** More than a snapshot can have, so that something else is among it if there is anything else. */
  look(): Promise<Tree> {
    return this.tree.look(2 * this.options.limits.maxFiles + 1);
  }

  /** What has to go; what is protected is noted, and stays with the directories above it. */
  async strangers({ nodes, skipped }: Tree): Promise<Doomed[]> {
    const { isProtected } = this.options;
    const slice = new TimeSlice();
    this.kept.clear();
    const all: Doomed[] = [...nodes.values()];
    for (const { path, code } of skipped) {
      if (code === "FILE_TYPE") all.push({ path, type: "file" });
      else if (code === "INVALID_ARGUMENT") this.kept.set(path, "Its name is not UTF-8, or too long");
    }
    const guarded = new Set<string>();
    for (const { path } of all) {
      if (isProtected(path)) for (const above of ancestorsOf(path)) guarded.add(above);
      await slice.pass();
    }
    return all.filter(({ path, type }) => {
      if (this.wanted.get(path)?.type === type && nodes.has(path)) return false;
      const isGuarded = guarded.has(path);
      if (!isGuarded && !isProtected(path)) return true;
      this.kept.set(path, isGuarded ? "Something in it is protected by denyWrite" : "denyWrite protects it");
      return false;
    });
  }

  async #remove(doomed: readonly Doomed[], { truncated, isOnlyTooDeep }: Tree): Promise<void> {
    const fromTop = [...doomed].sort((a, b) => (a.path < b.path ? -1 : 1));
    if (truncated && !isOnlyTooDeep) {
      // Something protected may be among what was not seen.
      await this.tree.remove(fromTop.reverse());
      return;
    }
    const going = new Set(fromTop.map(({ path }) => path));
    const tops = fromTop.filter(({ path }) => !ancestorsOf(path).some((above) => going.has(above)));
    await this.tree.remove(tops.filter(({ type }) => type !== "directory"));
    await this.tree.removeTrees(tops.filter(({ type }) => type === "directory").map(({ path }) => path));
  }

  /** Lets us into directories that their owner has closed. True: there may be more to see now. */
  async #open({ nodes }: Tree): Promise<boolean> {
    const closed = [...nodes.values()].filter(
      ({ path, type, mode }) =>
        type === "directory" &&
        (mode & 0o700) !== 0o700 &&
        !this.opened.has(path) &&
        !this.options.isProtected(path),
    );
    for (const { path, mode } of closed) this.opened.set(path, mode);
    await this.tree.setModes(closed.map((node) => ({ ...node, mode: node.mode | 0o700 })));
    return closed.length > 0;
  }
}

function ancestorsOf(path: string): string[] {
  const names = path.split("/");
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join("/"));
}
