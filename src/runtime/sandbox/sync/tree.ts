import type { Tree, TreeNode, TreeProblem } from "../../workspace/index.js";

/** A file, directory or symbolic link of either side. */
export type Node = TreeNode;
/** What could not be copied, and why. */
export type SyncProblem = TreeProblem;
export type { Tree } from "../../workspace/index.js";

type Side = "host" | "guest";

/** Both sides of what was the same when it was last looked at, by path. */
export type Base = Map<string, Readonly<Record<Side, Node>>>;

/** What has to happen on the target so that it becomes what the source is. */
export interface SyncPlan {
  /** What needs nothing: the source's and the target's. */
  readonly same: readonly (readonly [Node, Node])[];
  /** Children before their parents. */
  readonly remove: readonly Node[];
  /** Parents before their children; with the entry that is there now, if it stays until it is replaced. */
  readonly copy: readonly { readonly from: Node; readonly to: Node | undefined }[];
}

/** A double holds a time of today to a quarter of a microsecond. */
const TIME_SLACK_NS = 2_000n;

/** True when size and times say that both are the same. */
export function looksSame(a: Node, b: Node): boolean {
  if (a.type !== b.type) return false;
  if (a.type === "symlink") return a.target === b.target;
  if (a.mode !== b.mode) return false;
  return a.type === "directory" || (a.size === b.size && sameTime(a.mtimeNs, b.mtimeNs));
}

/** True when it has not changed since: a program can set mtime, but not ctime. */
export function isUntouched(now: Node, then: Node): boolean {
  if (!looksSame(now, then)) return false;
  return now.type !== "file" || (now.ino === then.ino && now.ctimeNs === then.ctimeNs);
}

/** Systems without fractions of seconds have zeros there. */
function sameTime(a: bigint, b: bigint): boolean {
  if (a % 1_000_000_000n === 0n || b % 1_000_000_000n === 0n)
    return a / 1_000_000_000n === b / 1_000_000_000n;
  const difference = a - b;
  return difference < TIME_SLACK_NS && difference > -TIME_SLACK_NS;
}

export interface PlanOptions {
  readonly from: Side;
  /** Undefined: the sides have never been the same, so that the target becomes what the source is. */
  readonly base: Base | undefined;
  /** Paths that are left out. */
  readonly isExcluded: (path: string) => boolean;
}

/**
 * Compares the sides. Where both were the same before, only what the source has changed since is carried over, and what
 * the target has changed by itself stays; where both changed the same path, the source wins.
 */
export function planSync(source: Tree, target: Tree, { from, base, isExcluded }: PlanOptions): SyncPlan {
  const to = from === "host" ? "guest" : "host";
  const same: [Node, Node][] = [];
  const remove: Node[] = [];
  const copy: { from: Node; to: Node | undefined }[] = [];
  for (const path of new Set([...source.nodes.keys(), ...target.nodes.keys()])) {
    if (isExcluded(path)) continue;
    const here = source.nodes.get(path);
    const there = target.nodes.get(path);
    const known = base?.get(path);
    const isTouched =
      known === undefined
        ? base === undefined || here !== undefined
        : here === undefined || !isUntouched(here, known[from]);
    if (here !== undefined && there !== undefined) {
      const isKnown = known !== undefined && !isTouched && isUntouched(there, known[to]);
      if (isKnown || (known === undefined && looksSame(here, there))) {
        same.push([here, there]);
        continue;
      }
    }
    if (!isTouched) continue;
    if (here === undefined) {
      if (there !== undefined && !source.truncated) remove.push(there);
      continue;
    }
    const isInTheWay = there !== undefined && there.type !== here.type;
    if (isInTheWay) remove.push(there);
    copy.push({ from: here, to: isInTheWay ? undefined : there });
  }
  // What stood in a directory that is something else now goes with it, also what the target has put there since.
  const replaced = new Set(remove.filter(({ path }) => source.nodes.has(path)).map(({ path }) => path));
  if (replaced.size > 0) {
    const leaving = new Set(remove);
    for (const node of target.nodes.values()) {
      if (leaving.has(node) || isExcluded(node.path)) continue;
      if (ancestorsOf(node.path).some((path) => replaced.has(path))) remove.push(node);
    }
  }
  const byPath = (a: Node, b: Node) => (a.path < b.path ? -1 : 1);
  return {
    same,
    remove: remove.sort((a, b) => byPath(b, a)),
    copy: copy.sort((a, b) => byPath(a.from, b.from)),
  };
}

function ancestorsOf(path: string): string[] {
  const names = path.split("/");
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join("/"));
}
