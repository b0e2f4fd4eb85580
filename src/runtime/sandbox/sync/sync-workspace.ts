import { SandboxError } from "../../../kit/errors.js";
import type { AgentWorkspace, Tree } from "../../workspace/index.js";
import { DeniedPaths, foundNothing, HostTree, parseInnerPath } from "../../workspace/index.js";
import type { GuestTree } from "../guest-files/guest-tree.js";
import type { RunnerWorkspace } from "../guest-files/runner-workspace.js";
import { Budget, type SyncLimits } from "./budget.js";
import { pullFiles } from "./pull-files.js";
import { pushFiles } from "./push-files.js";
import { SyncCounter, type SyncReport } from "./sync-counter.js";
import { type Base, looksSame, type Node, planSync, type SyncPlan } from "./tree.js";

export type { SyncLimits } from "./budget.js";
export type { SyncReport } from "./sync-counter.js";
export type { SyncProblem } from "./tree.js";

export interface SyncOptions {
  readonly limits: SyncLimits;
  /** Globs of paths that are the host's: they are copied to the sandbox, and never back. */
  readonly denyWrite?: readonly string[];
  /** Paths that nothing is done about, such as a program's own file while it runs. */
  readonly excluded?: () => Iterable<string>;
}

/** A copy must end, whatever the other side does. */
const SYNC_MS = 600_000;
/** Anything that large is not sent before both sides were asked for its hash. */
const HASH_FROM_BYTES = 64 * 1024;

/**
 * Keeps a session's directory on this host and its files in a sandbox that shares no directory the same. Remembers
 * what was the same, so that only what has changed goes either way.
 */
export class WorkspaceSync {
  readonly #host: HostTree;
  readonly #guest: GuestTree;
  readonly #limits: SyncLimits;
  readonly #denied: DeniedPaths;
  readonly #excluded: () => Iterable<string>;
  #base: Base | undefined;
  /** One copy at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(host: AgentWorkspace, inside: RunnerWorkspace, options: SyncOptions) {
    this.#limits = options.limits;
    this.#host = new HostTree(host);
    this.#guest = inside.tree;
    this.#denied = new DeniedPaths(options.denyWrite ?? []);
    this.#excluded = options.excluded ?? (() => []);
  }

  /** `keep`: what only the sandbox has stays, also the first time. */
  toContainer(options: { readonly keep?: boolean } = {}): Promise<SyncReport> {
    return this.#inTurn(() => this.#push(options.keep === true));
  }

  /** `last`: a file that does not stop changing is taken as it is. */
  toHost(options: { readonly last?: boolean } = {}): Promise<SyncReport> {
    return this.#inTurn(() => this.#pull(options.last === true));
  }

  async #push(keep: boolean): Promise<SyncReport> {
    const [host, guest] = [await this.#host.look(this.#limits.maxEntries), await this.#lookInside()];
    const base = keep ? (this.#base ?? new Map()) : this.#base;
    const plan = planSync(host, guest, { from: "host", base, isExcluded: this.#isExcluded() });
    const counter = new SyncCounter([...host.skipped, ...guest.skipped], host.truncated || guest.truncated);
    const { files, links, directories } = byType(plan);
    const gone = plan.remove.map(({ path }) => path);
    await this.#guest.remove(plan.remove);
    counter.removed = gone.length;
    const above = parentsOf([...files.map(({ from }) => from), ...links]);
    const closed = [...guest.nodes.values()].filter(
      ({ path, type, mode }) => type === "directory" && (mode & 0o700) !== 0o700 && above.has(path),
    );
    await this.#guest.setModes(closed.map((node) => ({ ...node, mode: node.mode | 0o700 })));
    // The other side may have removed what is above something new.
    const parents = [...above].filter((path) => path !== "" && guest.nodes.get(path)?.type !== "directory");
    await this.#guest.makeDirectories([...parents, ...directories.map(({ path }) => path)]);
    const known = await this.#sameContents(files);
    const changed = files.filter(({ from }) => !known.has(from.path)).map(({ from }) => from);
    await pushFiles(this.#host, this.#guest, changed, counter, SYNC_MS);
    await this.#guest.link(links);
    const written = files.map(({ from }) => from).filter(({ path }) => !counter.hasFailed(path));
    await this.#guest.setTimes(written);
    const reopened = closed.map(({ path, mode }) => host.nodes.get(path) ?? ({ path, mode } as Node));
    await this.#guest.setModes(
      [...written.filter(({ path }) => known.has(path)), ...reopened, ...directories].reverse(),
    );
    const after = await this.#lookInside();
    counter.copied += links.length + directories.length + known.size;
    const wanted = [...plan.copy.map(({ from }) => from), ...plan.same.map(([from]) => from)];
    this.#settle(wanted, host, after, gone, counter);
    return counter.report();
  }

  async #pull(last: boolean): Promise<SyncReport> {
    const [guest, host] = [await this.#lookInside(), await this.#host.look(this.#limits.maxEntries)];
    const isExcluded = this.#isExcluded();
    const plan = planSync(guest, host, {
      from: "guest",
      // A file that the sandbox never had was written by another process of the session: it cannot have been deleted here.
      base: this.#base ?? new Map(),
      isExcluded: (path) => isExcluded(path) || this.#isHosts(path),
    });
    const counter = new SyncCounter([...guest.skipped, ...host.skipped], guest.truncated);
    const { files, links, directories } = byType(plan);
    const above = parentsOf([...plan.remove, ...plan.copy.map(({ from }) => from)]);
    const closed = [...host.nodes.values()].filter(
      ({ path, type, mode }) => type === "directory" && (mode & 0o700) !== 0o700 && above.has(path),
    );
    for (const node of closed) counter.attempt(node.path, () => this.#host.setMode(node, node.mode | 0o700));
    const used = { bytes: 0, entries: host.nodes.size };
    for (const { type, size } of host.nodes.values()) used.bytes += type === "file" ? size : 0;
    const budget = new Budget(this.#limits, used, SYNC_MS);
    for (const node of plan.remove) {
      const isGone = counter.attempt(node.path, () => this.#host.remove(node));
      if (!isGone) continue;
      counter.removed++;
      budget.giveBackEntry();
      if (node.type === "file") budget.giveBack(node.size);
    }
    const removed = new Set(plan.remove.map(({ path }) => path));
    const isNew = (path: string) => removed.has(path) || !host.nodes.has(path);
    for (const { path } of directories) {
      counter.attempt(path, () => {
        if (isNew(path)) budget.spendEntry();
        this.#host.makeDirectory(path);
      });
    }
    const known = await this.#sameContents(files);
    for (const { from } of files.filter(({ from: { path } }) => known.has(path))) {
      const isDone = counter.attempt(from.path, () => {
        this.#host.setMode(from, from.mode | 0o400);
        this.#host.setTime(from.path, from.mtimeNs);
        this.#host.setMode(from, from.mode);
      });
      if (isDone) counter.copied++;
    }
    const seen = await pullFiles(
      this.#guest,
      this.#host,
      files.filter(({ from }) => !known.has(from.path)),
      { budget, counter, last },
    );
    for (const { path, target } of links) {
      counter.attempt(path, () => {
        if (isNew(path)) budget.spendEntry();
        this.#host.link(path, target!);
        counter.copied++;
      });
    }
    const modes = new Map([...closed, ...directories].map((node) => [node.path, node]));
    for (const { path, mode, ...node } of [...modes.values()].sort((a, b) => (a.path < b.path ? 1 : -1))) {
      const wanted = guest.nodes.get(path)?.mode ?? mode;
      counter.attempt(path, () => this.#host.setMode({ ...node, path }, wanted));
    }
    counter.copied += directories.length;
    const nodes = new Map([...guest.nodes, ...seen]);
    const wanted = [
      ...plan.copy.map(({ from }) => nodes.get(from.path)!),
      ...plan.same.map(([from]) => from),
    ];
    this.#settleOnHost(wanted, plan, nodes, counter);
    return counter.report();
  }

  /** Files of which both sides have the same bytes, though their times differ. */
  async #sameContents(files: SyncPlan["copy"]): Promise<Set<string>> {
    const candidates = files.filter(
      ({ from, to }) => to !== undefined && to.size === from.size && from.size >= HASH_FROM_BYTES,
    );
    const same = new Set<string>();
    if (candidates.length === 0) return same;
    const inside = await this.#guest.hashes(candidates.map(({ from }) => from.path));
    for (const [path, hash] of inside) {
      const own = await this.#host.hash(path).catch(() => undefined);
      if (own === hash) same.add(path);
    }
    return same;
  }

  /** Remembers what is the same now, after the sandbox was written to. */
  #settle(
    wanted: readonly Node[],
    host: Tree,
    after: Tree,
    gone: readonly string[],
    counter: SyncCounter,
  ): void {
    const base: Base = this.#base ?? new Map();
    this.#base = base;
    for (const path of gone) if (!after.nodes.has(path)) base.delete(path);
    for (const { path } of wanted) {
      const [own, theirs] = [host.nodes.get(path), after.nodes.get(path)];
      if (own !== undefined && theirs !== undefined && looksSame(own, theirs)) {
        base.set(path, { host: own, guest: theirs });
      } else if (!counter.hasFailed(path)) {
        counter.fail(path, new SandboxError("FILE_FAILED", "The sandbox did not keep it as it was sent"));
      }
    }
    for (const path of base.keys()) if (!host.nodes.has(path) && !after.nodes.has(path)) base.delete(path);
  }

  /** The same after this host was written to. */
  #settleOnHost(
    wanted: readonly Node[],
    plan: SyncPlan,
    guest: ReadonlyMap<string, Node>,
    counter: SyncCounter,
  ): void {
    const base: Base = this.#base ?? new Map();
    this.#base = base;
    for (const { path } of plan.remove) if (!counter.hasFailed(path)) base.delete(path);
    for (const node of wanted) {
      if (counter.hasFailed(node.path)) continue;
      counter.attempt(node.path, () => {
        const own = this.#host.at(node.path);
        if (own !== undefined && looksSame(own, node)) base.set(node.path, { host: own, guest: node });
        else base.delete(node.path);
      });
    }
    for (const path of base.keys()) if (!guest.has(path) && !this.#exists(path)) base.delete(path);
  }

  #exists(path: string): boolean {
    try {
      return this.#host.at(path) !== undefined;
    } catch (error) {
      return foundNothing(error);
    }
  }

  #lookInside(): Promise<Tree> {
    return this.#guest.look(this.#limits.maxEntries, (path) => this.#base?.get(path)?.guest);
  }

  #isHosts(path: string): boolean {
    if (!this.#denied.any) return false;
    try {
      this.#denied.refuse(parseInnerPath(path).components);
      return false;
    } catch {
      return true;
    }
  }

  #isExcluded(): (path: string) => boolean {
    const excluded = new Set(this.#excluded());
    return (path) => excluded.has(path);
  }

  #inTurn<T>(copy: () => Promise<T>): Promise<T> {
    const result = this.#last.then(copy);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

function byType({ copy }: SyncPlan) {
  const of = (type: Node["type"]) => copy.filter(({ from }) => from.type === type);
  return {
    files: of("file"),
    links: of("symlink").map(({ from }) => from),
    directories: of("directory").map(({ from }) => from),
  };
}

function parentsOf(nodes: readonly Node[]): Set<string> {
  return new Set(nodes.map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf("/")))));
}
