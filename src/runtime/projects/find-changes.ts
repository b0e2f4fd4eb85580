import { createHash } from "node:crypto";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { forEachParallel } from "../../kit/parallel.js";
import {
  isReserved,
  parseInnerPath,
  staysInside,
  TimeSlice,
  type Tree,
  type TreeNode,
  textOf,
  tooLarge,
  type WorkspaceTree,
} from "../workspace/index.js";
import { IgnoreRules } from "./gitignore.js";
import { isInGit, type LeftOut, type LeftOutReason, reasonOfNew } from "./left-out.js";
import { type FileState, insidePath, isSame, type Project, parentsOf } from "./project.js";
import type { ContentStore, ProjectStore } from "./project-store.js";
import { noteOn } from "./runs-outside.js";

/** One file or link of a project that is not what it was when it was copied in. */
export interface ProjectChange {
  readonly path: string;
  readonly change: "created" | "modified" | "deleted";
  /** Left out: it was not there. */
  readonly before?: FileState;
  /** Left out: it is gone. */
  readonly after?: FileState;
  /** What a person should know before it is applied. */
  readonly note?: string;
}

/** What is different in the workspace, at one moment. */
export interface ProjectChanges {
  /** The same for the same changes, and for no others. */
  readonly id: string;
  readonly source: string;
  readonly target: string;
  /** Sorted by path. */
  readonly changes: readonly ProjectChange[];
  /** What is in the workspace and is no change that could be applied. */
  readonly leftOut: readonly LeftOut[];
}

/** The same with what only applying and discarding need. */
export interface ComparedChanges extends ProjectChanges {
  /** Paths of the base where something stands that can be no change: a link that leads out, a special or closed file. */
  readonly obscured: readonly string[];
  /** Directories that are there inside, of those in which something was deleted. */
  readonly directories: ReadonlySet<string>;
}

/** Not more than this is listed of what is left out; the guest decides how much there is. */
const MAX_LEFT_OUT = 1000;
/** A guest decides how many files there are, and may have written the patterns. */
const MAX_MATCH_MS = 60_000;
/** What programs install is looked at and left out: more entries than the project may have. */
export const LOOK_FACTOR = 25;

/** Compares the workspace with what was copied in. Contents that differ are kept in `stage`: only those are shown and applied. */
export async function findChanges(
  project: Project,
  tree: WorkspaceTree,
  store: ProjectStore,
  stage: ContentStore,
  programs: ReadonlySet<string>,
): Promise<ComparedChanges> {
  const seen = await tree.look(LOOK_FACTOR * store.limits.maxFiles);
  if (seen.truncated && !seen.isOnlyTooDeep) {
    throw new SandboxError(
      "FILE_TOO_LARGE",
      "The workspace has too many files to compare, or directories that are closed",
      {
        hint: "Remove what a program left there, or discard the session.",
      },
    );
  }
  return new Comparison(project, tree, store, stage, programs).run(seen);
}

class Comparison {
  readonly #rules: IgnoreRules;
  readonly #changes: ProjectChange[] = [];
  readonly #leftOut = new Map<string, LeftOut>();
  readonly #present = new Set<string>();
  readonly #obscured: string[] = [];
  #budget: number;

  constructor(
    private readonly project: Project,
    private readonly tree: WorkspaceTree,
    private readonly store: ProjectStore,
    private readonly stage: ContentStore,
    private readonly programs: ReadonlySet<string>,
  ) {
    this.#rules = rulesOf(project, store);
    this.#budget = store.limits.maxBytes;
  }

  async run(seen: Tree): Promise<ComparedChanges> {
    const files: TreeNode[] = [];
    for await (const node of this.#nodes(seen)) {
      if (node.type === "symlink") this.#takeLink(node);
      else files.push(node);
    }
    for (const { path } of this.#below(seen.skipped)) {
      this.#present.add(path);
      this.#leave(path, "special");
    }
    if (seen.isOnlyTooDeep) this.#leave(".", "deep");
    await forEachParallel(files, (node) => this.#takeFile(node));
    for (const [path, before] of this.project.base) {
      if (!this.#present.has(path)) this.#changes.push(withNote({ path, change: "deleted", before }));
    }
    const changes = markCollisions(this.#changes.sort((a, b) => (a.path < b.path ? -1 : 1)));
    const { source, target } = this.project;
    const leftOut = [...this.#leftOut.values()];
    const directories = this.#directoriesOf(seen, changes);
    const obscured = this.#obscured;
    return { id: idOf(source, changes), source, target, changes, leftOut, obscured, directories };
  }

  #directoriesOf({ nodes }: Tree, changes: readonly ProjectChange[]): ReadonlySet<string> {
    const deleted = changes.filter(({ after }) => after === undefined);
    const parents = new Set(deleted.flatMap(({ path }) => parentsOf(path)));
    return new Set(
      [...parents].filter((path) => nodes.get(insidePath(this.project, path))?.type === "directory"),
    );
  }

  /** Files and links that may be changes, with paths in the project. */
  async *#nodes({ nodes }: Tree): AsyncGenerator<TreeNode> {
    let created = 0;
    const slice = new TimeSlice();
    const deadline = performance.now() + MAX_MATCH_MS;
    for (const node of this.#below(nodes.values())) {
      await slice.pass();
      if (performance.now() > deadline) throw tooSlow();
      if (node.type === "directory") continue;
      const { path } = node;
      if (!this.project.base.has(path)) {
        const left = this.#leftOutAt(path);
        if (left !== undefined) {
          this.#leave(left.path, left.why);
          continue;
        }
        if (this.programs.has(insidePath(this.project, path))) continue;
        if (++created > this.store.limits.maxFiles) throw tooManyNew(this.store.limits.maxFiles);
      }
      this.#present.add(path);
      yield node;
    }
  }

  *#below<Entry extends { readonly path: string }>(entries: Iterable<Entry>): Generator<Entry> {
    const { target } = this.project;
    for (const entry of entries) {
      if (target === "") yield entry;
      else if (entry.path.startsWith(`${target}/`))
        yield { ...entry, path: entry.path.slice(target.length + 1) };
    }
  }

  /** What keeps a new file out: itself, or the uppermost directory above it, which stands for all that is in it. */
  #leftOutAt(path: string): LeftOut | undefined {
    if (isReserved(path) || !isPlainPath(path)) return { path, why: "special" };
    const parts = path.split("/");
    for (let depth = 1; depth <= parts.length; depth++) {
      const at = parts.slice(0, depth).join("/");
      const isDirectory = depth < parts.length;
      const why = reasonOfNew(at) ?? (this.#rules.ignores(at, isDirectory) ? "ignored" : undefined);
      if (why !== undefined) return { path: at, why };
    }
    return undefined;
  }

  #takeLink({ path, target = "" }: TreeNode): void {
    const after: FileState = { type: "symlink", target: textOf(target) };
    if (isSame(this.project.base.get(path), after)) return;
    if (!staysInside(path.split("/").length - 1, after.target) || isInGit(after.target))
      return this.#leave(path, "link");
    this.#add(path, after);
  }

  async #takeFile(node: TreeNode): Promise<void> {
    const { path } = node;
    const before = this.project.base.get(path);
    const executable = (node.mode & 0o100) !== 0;
    try {
      // The size says only what is worth trying first: the hash decides.
      if (before?.type === "file" && before.size === node.size && before.executable === executable) {
        if ((await this.#hash(path, node.size)) === before.sha256) return;
      }
      const content = this.tree.read(insidePath(this.project, path)) as AsyncIterable<Buffer>;
      const kept = await this.stage.keep(content, this.#budget, path);
      this.#budget -= kept.size;
      if (this.#budget < 0) throw tooLarge(path, this.store.limits.maxBytes);
      const after: FileState = { type: "file", ...kept, executable };
      if (!isSame(before, after)) this.#add(path, after);
    } catch (error) {
      if (!UNREADABLE.has(systemCode(error))) throw error;
      this.#leave(path, "unreadable");
    }
  }

  async #hash(path: string, maxBytes: number): Promise<string | undefined> {
    const hash = createHash("sha256");
    let length = 0;
    const content = this.tree.read(insidePath(this.project, path));
    try {
      for await (const chunk of content as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > maxBytes) return undefined;
        hash.update(chunk);
      }
      return hash.digest("hex");
    } finally {
      content.destroy();
    }
  }

  #add(path: string, after: FileState): void {
    const before = this.project.base.get(path);
    if (before === undefined) this.#changes.push(withNote({ path, change: "created", after }));
    else this.#changes.push(withNote({ path, change: "modified", before, after }));
  }

  #leave(path: string, why: LeftOutReason): void {
    if (this.project.base.has(path)) this.#obscured.push(path);
    if (this.#leftOut.size < MAX_LEFT_OUT) this.#leftOut.set(path, { path, why });
  }
}

/** What a program inside changes, closes or removes while it is read. */
const UNREADABLE: ReadonlySet<string | undefined> = new Set([
  "FILE_DENIED",
  "FILE_NOT_FOUND",
  "FILE_TYPE",
  "PATH_TRAVERSAL",
]);

/** The rules that held when it was copied in: a program inside cannot choose what is looked at. */
function rulesOf({ base, above = [] }: Project, store: ProjectStore): IgnoreRules {
  const rules = new IgnoreRules();
  for (const { prefix, text } of above) rules.addAbove(prefix, text);
  const blobs = store.blobs();
  for (const [path, state] of base) {
    if (state.type !== "file" || !/(?:^|\/)\.gitignore$/.test(path)) continue;
    rules.add(
      path.slice(0, Math.max(0, path.length - "/.gitignore".length)),
      blobs.readAll(state).toString("utf8"),
    );
  }
  return rules;
}

function withNote(change: ProjectChange): ProjectChange {
  const note = noteOn(change.path, change.before, change.after);
  return note === undefined ? change : { ...change, note };
}

/** False for what only a guest that lies about its files can tell of. */
function isPlainPath(path: string): boolean {
  try {
    return parseInnerPath(path).text === path;
  } catch {
    return false;
  }
}

/** Two names that are one where case does not count. */
function markCollisions(changes: readonly ProjectChange[]): ProjectChange[] {
  const names = new Map<string, number>();
  const fold = (path: string) => path.normalize("NFC").toLowerCase();
  const there = changes.filter(({ after }) => after !== undefined);
  for (const { path } of there) names.set(fold(path), (names.get(fold(path)) ?? 0) + 1);
  return changes.map((change) =>
    change.after === undefined || names.get(fold(change.path)) === 1
      ? change
      : { ...change, note: "its name differs from another one only in case" },
  );
}

function idOf(source: string, changes: readonly ProjectChange[]): string {
  const facts = changes.map(({ path, before, after }) => [path, before ?? null, after ?? null]);
  return createHash("sha256")
    .update(JSON.stringify([source, facts]))
    .digest("hex");
}

function tooSlow(): SandboxError {
  return new SandboxError("FILE_TOO_LARGE", "It takes too long to match all files with .gitignore", {
    hint: "Write fewer patterns, or remove what programs made in the workspace.",
  });
}

function tooManyNew(maxFiles: number): SandboxError {
  return new SandboxError("FILE_TOO_LARGE", `Programs made more than ${maxFiles} files in the project`, {
    hint: "Remove what is not needed inside, or discard the changes.",
  });
}
