import { createHash } from "node:crypto";
import { closeSync, lstatSync, readdirSync } from "node:fs";
import { type ErrorCode, SandboxError, systemCode } from "../../kit/errors.js";
import { escapeFileName } from "../../kit/escape-unsafe.js";
import {
  beneath,
  byteNameOf,
  HostTree,
  type Owner,
  openDirectory,
  parseInnerPath,
  staysInside,
  type TreeNode,
  textOf,
  withParent,
} from "../workspace/index.js";
import type { ComparedChanges, ProjectChange, ProjectChanges } from "./find-changes.js";
import { findGitDirectories, isBelowAny } from "./git-directory.js";
import { isInGit } from "./left-out.js";
import { type FileState, isSame, type Project, parentsOf } from "./project.js";
import type { ContentStore, Kept, ProjectStore } from "./project-store.js";
import type { SourceDirectory } from "./source-directory.js";

/** A change that cannot be applied, and why. */
export interface ProjectConflict {
  readonly path: string;
  readonly why: string;
}

/** What applying came to. */
export interface AppliedChanges {
  readonly written: readonly string[];
  readonly removed: readonly string[];
  /** What was as the change has it already. */
  readonly unchanged: readonly string[];
}

/** What stands outside at a change's path, compared with both sides: nothing is written by this. */
export async function findConflicts(
  { changes }: Pick<ProjectChanges, "changes">,
  source: SourceDirectory,
): Promise<ProjectConflict[]> {
  const outside = new Outside(source);
  const conflicts: ProjectConflict[] = [];
  const repositories = outside.repositoriesWith(changes);
  const gone = goneWith(changes);
  for (const change of changes) {
    const why = isBelowAny(change.path, repositories) ? IN_REPOSITORY : await outside.obstacle(change, gone);
    if (why !== undefined) conflicts.push({ path: change.path, why });
  }
  return conflicts;
}

/**
 * Brings the changes into the directory: all of them or, where one was changed outside meanwhile, none. Each file takes its place
 * whole. What is written is what `stage` holds, by its hash; what is applied becomes the new base.
 */
export async function applyChanges(
  { changes, directories }: Pick<ComparedChanges, "changes" | "directories">,
  project: Project,
  source: SourceDirectory,
  store: ProjectStore,
  stage: ContentStore,
): Promise<AppliedChanges> {
  refuseConflicts(await findConflicts({ changes }, source));
  const outside = new Outside(source);
  const base = new Map(project.base);
  const done = { written: [] as string[], removed: [] as string[], unchanged: [] as string[] };
  try {
    const { directories: emptied } = goneWith(changes);
    for (const change of inOrder(changes)) {
      const at = change.path;
      if (emptied.has(at)) outside.removeEmpty([...emptied].filter((each) => isWithin(each, at)));
      const { path, after } = change;
      // Another program may be at work in the directory.
      const why = await outside.obstacle(change);
      if (why !== undefined) refuseConflicts([{ path, why }]);
      const isThere = isSame(await outside.stateOf(path), after);
      if (isThere) done.unchanged.push(path);
      else if (after === undefined) outside.remove(change);
      else await outside.write(path, after, stage);
      if (!isThere) (after === undefined ? done.removed : done.written).push(path);
      await note(base, change, store, stage);
    }
    // Only now: one that gets a new file keeps its mode and owner.
    outside.removeEmpty([...emptied].filter((path) => !directories.has(path)));
  } finally {
    store.save({ ...project, base });
  }
  return done;
}

/** First what goes, the deepest first: a directory may have to make room for a file. */
function inOrder(changes: readonly ProjectChange[]): ProjectChange[] {
  const gone = changes.filter(({ after }) => after === undefined);
  return [...gone.reverse(), ...changes.filter(({ after }) => after !== undefined)];
}

/** What changes delete, and the directories in which they do, the deepest first. */
interface Gone {
  readonly paths: ReadonlySet<string>;
  readonly directories: ReadonlySet<string>;
}

function goneWith(changes: readonly ProjectChange[]): Gone {
  const paths = changes.flatMap(({ path, after }) => (after === undefined ? [path] : []));
  const directories = new Set(paths.flatMap(parentsOf));
  return { paths: new Set(paths), directories: new Set([...directories].sort().reverse()) };
}

const NOTHING_GONE: Gone = goneWith([]);

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

async function note(
  base: Map<string, FileState>,
  { path, after }: ProjectChange,
  store: ProjectStore,
  stage: ContentStore,
): Promise<void> {
  if (after === undefined) base.delete(path);
  else base.set(path, after);
  if (after?.type !== "file") return;
  await store.blobs().keep(stage.read(after) as AsyncIterable<Buffer>, after.size, path);
}

function refuseConflicts(conflicts: readonly ProjectConflict[]): void {
  const [first] = conflicts;
  if (first === undefined) return;
  const more = conflicts.length === 1 ? "" : `, and ${conflicts.length - 1} more`;
  throw new SandboxError("CONFLICT", `${JSON.stringify(escapeFileName(first.path))} ${first.why}${more}`, {
    hint: "Undo what was done outside, change the file back inside, or discard the changes and copy the directory in anew.",
  });
}

/** The directory outside, walked from its open descriptor: no link in it is ever followed. */
class Outside {
  readonly #tree: HostTree;

  constructor(private readonly source: SourceDirectory) {
    // Files are read whoever they belong to; new ones belong to the directory's owner.
    this.#tree = new HostTree({ descriptor: source.fd, owner: undefined });
  }

  /** The directories in which the changes would make, or find, a repository: what git does there is what its files say. */
  repositoriesWith(changes: readonly ProjectChange[]): ReadonlySet<string> {
    const coming = changes.filter(({ after }) => after !== undefined).map(({ path }) => path);
    return findGitDirectories(coming, (directory, name) =>
      this.#hasEntry(directory === "" ? name : `${directory}/${name}`),
    );
  }

  #hasEntry(path: string): boolean {
    try {
      return this.#nodeAt(path) !== undefined;
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      // Not even its directory is one; what cannot be looked at counts as there.
      return error.code !== "FILE_TYPE" && error.code !== "PATH_TRAVERSAL";
    }
  }

  /** Why a change must not be written now. */
  async obstacle(
    { path, before, after }: ProjectChange,
    gone: Gone = NOTHING_GONE,
  ): Promise<string | undefined> {
    if (isInGit(path)) return "is git's own";
    if (after?.type === "symlink" && !staysInside(path.split("/").length - 1, after.target))
      return "is a symbolic link that leads out of the directory";
    let now: FileState | undefined;
    try {
      now = this.#makesRoom(path, gone) ? undefined : await this.stateOf(path);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      return OBSTACLES[error.code] ?? "cannot be read outside";
    }
    if (isSame(now, before) || isSame(now, after)) return undefined;
    if (now === undefined) return "was removed outside";
    return before === undefined ? "is there outside, and was not copied in" : "was changed outside";
  }

  /** True where what is in the way, above or as a directory, goes with the same changes: each of those is compared by itself. */
  #makesRoom(path: string, gone: Gone): boolean {
    if (gone.paths.has(path)) return false;
    if (parentsOf(path).some((parent) => gone.paths.has(parent))) return true;
    return this.#holdsOnly(path, gone);
  }

  /** True for a directory in which nothing stays. */
  #holdsOnly(directory: string, gone: Gone): boolean {
    if (!gone.directories.has(directory)) return false;
    const fd = openDirectory(this.source.fd, directory.split("/"));
    try {
      return readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true }).every((entry) => {
        const path = `${directory}/${entry.name}`;
        return entry.isDirectory() ? this.#holdsOnly(path, gone) : gone.paths.has(path);
      });
    } catch {
      return false;
    } finally {
      closeSync(fd);
    }
  }

  /** Undefined: nothing is there. */
  async stateOf(path: string): Promise<FileState | undefined> {
    const node = this.#nodeAt(path);
    if (node === undefined) return undefined;
    if (node.type === "symlink") return { type: "symlink", target: textOf(node.target ?? "") };
    if (node.type === "directory") throw new SandboxError("FILE_TYPE", "A directory stands where a file was");
    const sha256 = await this.#tree.hash(path);
    return { type: "file", sha256, size: node.size, executable: (node.mode & 0o100) !== 0 };
  }

  remove({ path, before }: ProjectChange): void {
    this.#tree.remove({ path, type: before?.type ?? "file" });
  }

  /** Those of the directories that have nothing in them. */
  removeEmpty(directories: readonly string[]): void {
    for (const path of directories) {
      try {
        this.#tree.remove({ path, type: "directory" });
      } catch {
        // Something else is in it.
      }
    }
  }

  /** Whose the file there is or, where none is, the directory that it comes into. */
  #ownerAt(path: string): Owner | undefined {
    const { owner } = this.source;
    if (owner === undefined) return undefined;
    for (const at of [path, ...parentsOf(path).reverse()]) {
      const found = this.#statOf(at);
      if (found !== undefined) return { uid: found.uid, gid: found.gid };
    }
    return owner;
  }

  #statOf(path: string): Owner | undefined {
    try {
      return withParent(this.source.fd, parseInnerPath(path), (fd, leaf) =>
        lstatSync(beneath(fd, leaf), { throwIfNoEntry: false }),
      );
    } catch (error) {
      if (systemCode(error) === "FILE_NOT_FOUND") return undefined;
      throw error;
    }
  }

  async write(path: string, state: FileState, stage: ContentStore): Promise<void> {
    const tree = new HostTree({ descriptor: this.source.fd, owner: this.#ownerAt(path) });
    if (state.type === "symlink") return tree.link(path, byteNameOf(state.target));
    const file = tree.write(path, modeFor(state, this.#nodeAt(path)));
    try {
      await copyExactly(stage, state, (chunk) => file.take(chunk));
      file.commit();
    } catch (error) {
      file.discard();
      throw error;
    }
  }

  #nodeAt(path: string): TreeNode | undefined {
    try {
      return this.#tree.at(path) ?? this.#assertNothing(path);
    } catch (error) {
      if (systemCode(error) === "FILE_NOT_FOUND") return undefined;
      throw error;
    }
  }

  /** A FIFO, a socket or a device is not described, and must not be replaced either. */
  #assertNothing(path: string): undefined {
    withParent(this.source.fd, parseInnerPath(path), (fd, leaf) => {
      if (lstatSync(beneath(fd, leaf), { throwIfNoEntry: false }) === undefined) return;
      throw new SandboxError("FILE_TYPE", "A special file stands there");
    });
  }
}

const IN_REPOSITORY = "would be in a git repository that is no .git: git would do what its files say";
const OBSTACLES: Partial<Record<ErrorCode, string>> = {
  FILE_TYPE: "is a directory or a special file outside, or below a file",
  PATH_TRAVERSAL: "is behind a symbolic link outside",
};

/** What was shown is what is written. */
async function copyExactly(
  stage: ContentStore,
  kept: Kept,
  take: (chunk: Buffer) => Promise<void>,
): Promise<void> {
  const hash = createHash("sha256");
  for await (const chunk of stage.read(kept) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    await take(chunk);
  }
  if (hash.digest("hex") !== kept.sha256)
    throw new SandboxError("CONFLICT", "A file is not what was shown", {
      hint: "Look at the changes again.",
    });
}

/** Never more than read, write and execute; what others may do is what they may do with the file that is replaced. */
function modeFor({ executable }: { readonly executable: boolean }, there: TreeNode | undefined): number {
  const mode = there?.type === "file" ? there.mode : 0o666 & ~process.umask();
  return executable ? mode | ((mode & 0o444) >> 2) : mode & 0o666;
}
