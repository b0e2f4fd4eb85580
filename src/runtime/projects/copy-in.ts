import { createReadStream } from "node:fs";
import { SandboxError } from "../../kit/errors.js";
import { forEachParallel } from "../../kit/parallel.js";
import {
  byteNameOf,
  openRegularFile,
  parseInnerPath,
  quoted,
  type WorkspaceTree,
} from "../workspace/index.js";
import { LOOK_FACTOR } from "./find-changes.js";
import type { LeftOut } from "./left-out.js";
import { type ListedEntry, listProject, tooMuch } from "./list-project.js";
import { type FileState, insidePath, type Project, parentsOf } from "./project.js";
import type { ProjectStore } from "./project-store.js";
import type { SourceDirectory } from "./source-directory.js";

/** What copying a directory in came to. */
export interface CopiedIn {
  readonly source: string;
  readonly target: string;
  readonly files: number;
  readonly bytes: number;
  readonly leftOut: readonly LeftOut[];
  /** False: it was there already, with changes, and stays as it is. */
  readonly isCopied: boolean;
}

/** Copies a directory into the workspace, and remembers what it had. What is in the workspace already is never replaced. */
export async function copyIn(
  source: SourceDirectory,
  target: string,
  tree: WorkspaceTree,
  store: ProjectStore,
  earlier?: Project,
): Promise<CopiedIn> {
  const listing = listProject(source, store.limits);
  if (earlier === undefined) await refuseTaken(tree, { target }, listing.entries, store.limits.maxFiles);
  const inside = (path: string) => insidePath({ target }, path);
  const above = [...source.ignoredAbove()].filter(({ text }) => text !== "");
  const record = { source: source.path, target, copiedAt: new Date().toISOString(), above };
  // Whoever ends this process now leaves files that the next copy must know as its own.
  if (earlier === undefined || earlier.isCopying)
    store.save({ ...record, isCopying: true, base: expected(listing.entries) });
  await removeGone(tree, inside, listing.entries, earlier);
  const base = new Map<string, FileState>();
  const parents = target === "" ? [] : [target];
  await tree.makeDirectories([...parents, ...listing.directories.map(inside)]);

  const blobs = store.blobs();
  let budget = store.limits.maxBytes;
  const files = listing.entries.filter((entry) => entry.type === "file");
  await forEachParallel(files, async ({ path, mode }) => {
    const { fd } = openRegularFile(source.fd, parseInnerPath(path));
    const kept = await blobs.keep(createReadStream("", { fd, start: 0 }), budget, path);
    budget -= kept.size;
    // It grew while it was read.
    if (budget < 0) throw tooMuch("more bytes than it had when it was listed", path);
    const executable = (mode & 0o100) !== 0;
    await tree.write({ path: inside(path), mode: mode | 0o400 }, blobs.read(kept));
    base.set(path, { type: "file", ...kept, executable });
  });
  const links = listing.entries.filter((entry) => entry.type === "symlink");
  await tree.link(links.map(({ path, target: to }) => ({ path: inside(path), target: byteNameOf(to) })));
  for (const { path, target: to } of links) base.set(path, { type: "symlink", target: to });
  store.save({ ...record, base });
  const { entries, bytes, leftOut } = listing;
  return { source: source.path, target, files: entries.length, bytes, leftOut, isCopied: true };
}

/** What a copy is to have, before any of it was read. */
function expected(entries: readonly ListedEntry[]): Map<string, FileState> {
  return new Map(
    entries.map((entry): [string, FileState] =>
      entry.type === "symlink"
        ? [entry.path, { type: "symlink", target: entry.target }]
        : [entry.path, { type: "file", sha256: "", size: entry.size, executable: false }],
    ),
  );
}

/** Makes room: what was copied before is gone outside, or something of another kind stands there. */
async function removeGone(
  tree: WorkspaceTree,
  inside: (path: string) => string,
  entries: readonly ListedEntry[],
  earlier: Project | undefined,
): Promise<void> {
  if (earlier === undefined) return;
  const types = new Map(entries.map(({ path, type }) => [path, type]));
  const gone = [...earlier.base].filter(([path, { type }]) => types.get(path) !== type);
  await tree.remove(gone.map(([path, { type }]) => ({ path: inside(path), type })));
  const directories = new Set(gone.flatMap(([path]) => parentsOf(path)));
  await tree.removeTrees([...directories].filter((path) => types.has(path)).map(inside));
}

async function refuseTaken(
  tree: WorkspaceTree,
  where: Pick<Project, "target">,
  entries: readonly ListedEntry[],
  maxFiles: number,
): Promise<void> {
  const { nodes } = await tree.look(LOOK_FACTOR * maxFiles);
  if (nodes.size === 0) return;
  const taken = entries.find(({ path }) => nodes.has(insidePath(where, path)));
  if (taken === undefined) return;
  throw new SandboxError("FILE_EXISTS", `The session has ${quoted(insidePath(where, taken.path))} already`, {
    hint: "Copy the directory to another place (DIR:PATH), or into another session.",
  });
}
