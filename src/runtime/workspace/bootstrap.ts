import { closeSync } from "node:fs";
import { SandboxError } from "../../kit/errors.js";
import type { BootstrapTarget, Copy } from "./bootstrap-target.js";
import { type ByteName, textOf } from "./byte-name.js";
import type { CopyTarget } from "./copy-entry.js";
import { openDirectory, openHostDirectory, openRegularFile } from "./descriptor-walk.js";
import { fileError, quoted, typeError } from "./file-errors.js";
import { parseInnerPath, parseRelativePath, type RelativePath } from "./relative-path.js";
import { scanTree } from "./tree-scan.js";
import type { WorkspaceFiles } from "./workspace-files.js";

const SOURCE_LIMITS = { maxEntries: 100_000, maxDepth: 64, recursive: true };

export interface BootstrapOptions {
  /** A directory of the host that holds what new workspaces start from. */
  readonly sourceRoot: string;
  /** The new workspace. Its `denyWrite` does not apply: this is how protected files get there. */
  readonly workspace: WorkspaceFiles;
  readonly initDirectory?: string;
  readonly skillsDirectory?: string;
  /** Copied only when there is no init directory; those that do not exist are passed over. */
  readonly bootstrapFiles?: readonly string[];
}

/**
 * Fills a new workspace: the init directory's tree, then always the skills, and the bootstrap files when there is
 * no init directory. A link is copied as a link, and only if it stays inside its tree. Resolves to how many files
 * and links were copied.
 */
export async function bootstrapWorkspace(options: BootstrapOptions): Promise<number> {
  const target = options.workspace.bootstrapTarget();
  const init = parseInnerPath(options.initDirectory ?? "init");
  const skills = parseInnerPath(options.skillsDirectory ?? "skills");
  const sourceFd = openSource(options.sourceRoot);
  try {
    const initCount = await copyTree(sourceFd, init, target, []);
    const skillsCount = await copyTree(sourceFd, skills, target, skills.components);
    const filesCount =
      initCount === undefined ? await copyFiles(sourceFd, options.bootstrapFiles ?? [], target) : 0;
    return (initCount ?? 0) + (skillsCount ?? 0) + filesCount;
  } finally {
    closeSync(sourceFd);
  }
}

function openSource(sourceRoot: string): number {
  try {
    return openHostDirectory(sourceRoot);
  } catch (error) {
    throw fileError(error, "bootstrap source");
  }
}

async function copyFiles(
  sourceFd: number,
  files: readonly string[],
  target: BootstrapTarget,
): Promise<number> {
  const places = files.map((file) => ({ fd: sourceFd, path: parseInnerPath(file) }));
  const copies = places.filter(isThere).map((from) => ({ from, to: from.path }));
  await target.copyFiles(copies);
  return copies.length;
}

function isThere({ fd, path }: CopyTarget): boolean {
  try {
    closeSync(openRegularFile(fd, path).fd);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Copies a directory of the source into the workspace; undefined when there is none. */
async function copyTree(
  sourceFd: number,
  tree: RelativePath,
  target: BootstrapTarget,
  above: readonly string[],
): Promise<number | undefined> {
  let treeFd: number;
  try {
    treeFd = openDirectory(sourceFd, tree.components);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  try {
    const entries = listSource(treeFd, tree.text);
    const toPath = (path: RelativePath) => parseRelativePath([...above, path.text].join("/"));
    const copiesOf = (wanted: SourceEntry["kind"]): Copy[] =>
      entries
        .filter(({ kind }) => kind === wanted)
        .map(({ path }) => ({ from: { fd: treeFd, path }, to: toPath(path) }));
    await target.makeDirectories(copiesOf("directory").map(({ to }) => to));
    const [files, links] = [copiesOf("file"), copiesOf("link")];
    await target.copyFiles(files);
    await target.copyLinks(links);
    return files.length + links.length;
  } finally {
    closeSync(treeFd);
  }
}

interface SourceEntry {
  readonly path: RelativePath;
  readonly kind: "file" | "directory" | "link";
}

/** Everything in the tree, parents before children; what cannot be copied is an error, never left out. */
function listSource(treeFd: number, tree: string): SourceEntry[] {
  const entries: SourceEntry[] = [];
  const truncated = scanTree(treeFd, SOURCE_LIMITS, (_handle, name, dirent) => {
    const path = sourcePath(name, tree);
    if (dirent.isDirectory()) entries.push({ path, kind: "directory" });
    else if (dirent.isSymbolicLink()) entries.push({ path, kind: "link" });
    else if (dirent.isFile()) entries.push({ path, kind: "file" });
    else throw typeError(`${tree}/${path.text}`, "a special file");
    return true;
  });
  if (truncated) {
    throw new SandboxError("FILE_TOO_LARGE", `${quoted(tree)} has too many, too deep or unreadable files`, {
      hint: `Keep it under ${SOURCE_LIMITS.maxEntries} files and ${SOURCE_LIMITS.maxDepth} levels, all readable.`,
    });
  }
  return entries.sort((a, b) => (a.path.text < b.path.text ? -1 : 1));
}

function sourcePath(name: ByteName, tree: string): RelativePath {
  const text = textOf(name);
  if (!text.includes("\ufffd")) return parseInnerPath(text);
  throw new SandboxError("INVALID_ARGUMENT", `${quoted(`${tree}/${text}`)} has a name that is not UTF-8`, {
    hint: "Rename the file.",
  });
}

function isNotFound(error: unknown): boolean {
  return error instanceof SandboxError && error.code === "FILE_NOT_FOUND";
}
