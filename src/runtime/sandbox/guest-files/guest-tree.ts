import type { Readable } from "node:stream";
import {
  type ByteName,
  byteNameOf,
  isReserved,
  parseInnerPath,
  parseRelativePath,
  reserved,
  special,
  TREE_MAX_DEPTH,
  type Tree,
  type TreeNode,
  type TreeProblem,
  textOf,
  unaddressable,
  type WorkspaceTree,
} from "../../workspace/index.js";
import { batches } from "./bootstrap-target.js";
import { notAListing, scriptFailure, tooSlow } from "./failures.js";
import { COMMAND_MS, type FileCommands } from "./file-commands.js";
import { type FoundEntry, Listing } from "./listing.js";
import type { PendingWrites } from "./pending-writes.js";
import { type Inside, type InsideEnd, runInside } from "./run-inside.js";
import {
  CHMOD_ALL,
  HASH_ALL,
  LINK_BEST_EFFORT,
  MAKE_BEST_EFFORT,
  READ_LINKS,
  REMOVE_ALL,
  REMOVE_TREES,
  statAll,
  TOUCH_ALL,
} from "./scripts.js";
import { receiveFile, sendFile } from "./transfer.js";

const LIST_MS = 120_000;
const MAX_LINK_BYTES = 4096;
const WORKSPACE = { text: "", components: [] };

/** The files inside, through commands and transfers of the guest. All that it answers is the hostile side's word. */
export class GuestTree implements WorkspaceTree {
  constructor(
    private readonly inside: Inside,
    private readonly commands: FileCommands,
    private readonly writes: PendingWrites,
  ) {}

  /** `known` tells the targets of links that have not changed since. */
  async look(
    maxEntries: number,
    known: (path: string) => TreeNode | undefined = () => undefined,
  ): Promise<Tree> {
    const [{ found, truncated, isOnlyTooDeep }, isHalf] = await this.writes.observe(() =>
      this.commands.list(parseRelativePath("."), { maxEntries, maxDepth: TREE_MAX_DEPTH }, LIST_MS),
    );
    const nodes = new Map<string, TreeNode>();
    const skipped: TreeProblem[] = [];
    const links: string[] = [];
    for (const each of found) {
      if (isHalf(each.path)) continue;
      const node = nodeOf(each);
      if (!isAddressable(node.path, each.path)) skipped.push(unaddressable(node.path));
      else if (isReserved(node.path)) skipped.push(reserved(node.path));
      else if (each.type === "other") skipped.push(special(node.path));
      else if (node.type !== "symlink") nodes.set(node.path, node);
      else {
        const before = known(node.path);
        const isSame =
          before?.target !== undefined && before.ino === node.ino && before.ctimeNs === node.ctimeNs;
        nodes.set(node.path, isSame ? { ...node, target: before.target! } : node);
        if (!isSame) links.push(node.path);
      }
    }
    for (const [path, target] of await this.#ask(READ_LINKS, links, MAX_LINK_BYTES)) {
      nodes.set(path, { ...nodes.get(path)!, target });
    }
    // Gone since, or turned into something else: the next look tells.
    let isCut = false;
    for (const path of links) {
      if (nodes.get(path)?.target !== undefined) continue;
      nodes.delete(path);
      isCut = true;
    }
    return { nodes, skipped, truncated: isCut || truncated, isOnlyTooDeep: !isCut && isOnlyTooDeep };
  }

  /** What stands at these paths now; what is gone is left out. */
  async at(paths: readonly string[]): Promise<Map<string, TreeNode>> {
    const nodes = new Map<string, TreeNode>();
    const wanted = new Set(paths.map(byteNameOf));
    const script = statAll(await this.commands.findKind());
    for (const batch of batches(paths.map((path) => [`./${path}`]))) {
      const listing = new Listing({ maxEntries: batch.length, maxDepth: TREE_MAX_DEPTH });
      await this.#run(script, batch, (chunk) => listing.push(chunk), [0, 1]);
      for (const found of listing.found) {
        if (!wanted.has(found.path)) throw notAListing();
        if (found.type === "file") nodes.set(textOf(found.path), nodeOf(found));
      }
    }
    return nodes;
  }

  /** SHA-256 of regular files; what cannot be told is left out. */
  async hashes(paths: readonly string[]): Promise<Map<string, string>> {
    return this.#ask(HASH_ALL, paths, 64);
  }

  read(path: string, maxBytes = Number.MAX_SAFE_INTEGER): Readable {
    const idleMs = COMMAND_MS;
    return receiveFile(this.inside.runner, this.#absolute(path), { shown: path, maxBytes, idleMs });
  }

  async write({ path, mode }: Pick<TreeNode, "path" | "mode">, content: Readable): Promise<void> {
    await this.writes.during(path, () =>
      sendFile(this.inside.runner, this.#absolute(path), content, { shown: path, mode, idleMs: COMMAND_MS }),
    );
  }

  async makeDirectories(paths: readonly string[]): Promise<void> {
    for (const batch of batches(paths.map((path) => [`./${path}`]))) await this.#run(MAKE_BEST_EFFORT, batch);
  }

  async link(nodes: readonly Pick<TreeNode, "path" | "target">[]): Promise<void> {
    const pairs = nodes.map(({ path, target }) => [textOf(target!), `./${path}`]);
    for (const batch of batches(pairs)) await this.#run(LINK_BEST_EFFORT, batch);
  }

  /** In this order; what is not empty or already gone stays as it is. */
  async remove(nodes: readonly Pick<TreeNode, "path">[]): Promise<void> {
    for (const batch of batches(nodes.map(({ path }) => [`./${path}`]))) await this.#run(REMOVE_ALL, batch);
  }

  async removeTrees(paths: readonly string[]): Promise<void> {
    for (const batch of batches(paths.map((path) => [`./${path}`]))) await this.#run(REMOVE_TREES, batch);
  }

  async setModes(nodes: readonly Pick<TreeNode, "path" | "mode">[]): Promise<void> {
    const pairs = nodes.map(({ path, mode }) => [mode.toString(8), `./${path}`]);
    for (const batch of batches(pairs)) await this.#run(CHMOD_ALL, batch);
  }

  async setTimes(nodes: readonly Pick<TreeNode, "path" | "mtimeNs">[]): Promise<void> {
    const pairs = nodes.map(({ path, mtimeNs }) => [timeText(mtimeNs), `./${path}`]);
    for (const batch of batches(pairs)) await this.#run(TOUCH_ALL, batch);
  }

  /** A command that answers with pairs of a path that was asked for and a value. */
  async #ask(script: string, paths: readonly string[], maxValueBytes: number): Promise<Map<string, string>> {
    const answers = new Map<string, string>();
    const wanted = new Set(paths.map((path) => byteNameOf(`./${path}`)));
    for (const batch of batches(paths.map((path) => [`./${path}`]))) {
      const most = batch.reduce((sum, path) => sum + Buffer.byteLength(path) + maxValueBytes + 2, 0);
      const chunks: Buffer[] = [];
      let length = 0;
      await this.#run(
        script,
        batch,
        (chunk) => {
          length += chunk.length;
          if (length > most) throw notAListing();
          chunks.push(chunk);
          return true;
        },
        [0],
      );
      const fields = Buffer.concat(chunks).toString("latin1").split("\0");
      for (let at = 0; at + 1 < fields.length; at += 2) {
        const [path, value] = [fields[at]!, fields[at + 1]!];
        if (!wanted.has(path)) throw notAListing();
        if (value !== "" && value.length <= maxValueBytes) answers.set(textOf(path).slice(2), value);
      }
    }
    return answers;
  }

  async #run(
    script: string,
    argument: readonly string[],
    take?: (chunk: Buffer) => boolean,
    fine: readonly number[] = [0],
  ): Promise<InsideEnd> {
    const end = await runInside(this.inside, {
      script,
      arguments: [this.inside.guestWorkspace, ...argument],
      timeoutMs: LIST_MS,
      ...(take !== undefined && { take }),
    });
    if (end.reason === "timeout") throw tooSlow("");
    if (end.exitCode === null || !fine.includes(end.exitCode)) throw scriptFailure(end, WORKSPACE);
    return end;
  }

  #absolute(path: string): string {
    return `${this.inside.guestWorkspace}/${path}`;
  }
}

function nodeOf(found: FoundEntry): TreeNode {
  const { mtimeNs, ctimeNs, ino } = found;
  return {
    path: textOf(found.path),
    type: found.type === "file" || found.type === "directory" ? found.type : "symlink",
    mode: found.mode & 0o777,
    size: Number(found.size),
    mtimeNs,
    ctimeNs,
    ino,
  };
}

function isAddressable(path: string, name: ByteName): boolean {
  if (byteNameOf(path) !== name) return false;
  try {
    return parseInnerPath(path).text === path;
  } catch {
    return false;
  }
}

/** As `touch -d` takes it. */
function timeText(ns: bigint): string {
  const whole = ns / 1_000_000_000n;
  const fraction = ns % 1_000_000_000n;
  return fraction < 0n ? `@${whole}` : `@${whole}.${String(fraction).padStart(9, "0")}`;
}
