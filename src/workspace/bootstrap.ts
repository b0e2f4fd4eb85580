import { closeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { SandboxError } from "../errors.js";
import type { AgentWorkspace } from "./agent-workspace.js";
import { type ByteName, textOf } from "./byte-name.js";
import { copyFile, copyLink } from "./copy-entry.js";
import { makeDirectories, openDirectory, openHostDirectory } from "./descriptor-walk.js";
import { fileError, quoted, typeError } from "./file-errors.js";
import { parseInnerPath, parseRelativePath, type RelativePath } from "./relative-path.js";
import { scanTree } from "./tree-scan.js";

const SOURCE_LIMITS = { maxEntries: 100_000, maxDepth: 64, recursive: true };
const ENTRIES_PER_SLICE = 64;

export interface BootstrapOptions {
  /** A directory of the host that holds what new workspaces start from. */
  readonly sourceRoot: string;
  /** The new workspace. Its `denyWrite` does not apply: this is how protected files get there. */
  readonly workspace: AgentWorkspace;
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
  const { sourceRoot, workspace } = options;
  const init = parseInnerPath(options.initDirectory ?? "init");
  const skills = parseInnerPath(options.skillsDirectory ?? "skills");
  const sourceFd = openSource(sourceRoot);
  try {
    const initCount = await copyTree(sourceFd, init, workspace, []);
    const skillsCount = await copyTree(sourceFd, skills, workspace, skills.components);
    const filesCount = initCount === undefined ? copyFiles(sourceFd, options) : 0;
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

function copyFiles(sourceFd: number, { workspace, bootstrapFiles = [] }: BootstrapOptions): number {
  let count = 0;
  for (const file of bootstrapFiles) {
    const path = parseInnerPath(file);
    try {
      copyFile({ fd: sourceFd, path }, { fd: workspace.descriptor, path }, workspace.owner);
      count++;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return count;
}

/** Copies a directory of the source into the workspace; undefined when there is none. */
async function copyTree(
  sourceFd: number,
  tree: RelativePath,
  workspace: AgentWorkspace,
  target: readonly string[],
): Promise<number | undefined> {
  let treeFd: number;
  try {
    treeFd = openDirectory(sourceFd, tree.components);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  try {
    let count = 0;
    for (const [index, { path, kind }] of listSource(treeFd, tree.text).entries()) {
      if (index % ENTRIES_PER_SLICE === ENTRIES_PER_SLICE - 1) await setImmediate();
      const rootFd = workspace.descriptor;
      const to = parseRelativePath([...target, path.text].join("/"));
      if (kind === "directory") {
        closeSync(makeDirectories(rootFd, to.components, workspace.owner));
      } else {
        const copy = kind === "link" ? copyLink : copyFile;
        copy({ fd: treeFd, path }, { fd: rootFd, path: to }, workspace.owner);
        count++;
      }
    }
    return count;
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
