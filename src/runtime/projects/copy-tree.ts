import { createReadStream, mkdirSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { forEachParallel } from "../../kit/parallel.js";
import {
  byteNameOf,
  HostTree,
  isReserved,
  openRegularFile,
  parseInnerPath,
  parseRelativePath,
  staysInside,
  type TreeNode,
  textOf,
  type WorkspaceTree,
} from "../workspace/index.js";
import { LOOK_FACTOR } from "./find-changes.js";
import { findGitDirectories, isBelowAny } from "./git-directory.js";
import { isInGit, type LeftOut } from "./left-out.js";
import { listProject, type ProjectLimits, tooMuch } from "./list-project.js";
import { insidePath } from "./project.js";
import { SourceDirectory } from "./source-directory.js";

/** What copying a directory one way came to. */
export interface CopiedTree {
  readonly files: number;
  readonly bytes: number;
  readonly leftOut: readonly LeftOut[];
}

/** Copies a directory of this host into the workspace, with the same left out as of a project. Files there are replaced; nothing is remembered. */
export async function putTree(
  source: SourceDirectory,
  target: string,
  tree: WorkspaceTree,
  limits: ProjectLimits,
): Promise<CopiedTree> {
  const { entries, directories, leftOut, bytes } = listProject(source, limits);
  const inside = (path: string) => insidePath({ target }, path);
  await tree.makeDirectories([...(target === "" ? [] : [target]), ...directories.map(inside)]);
  const files = entries.filter((entry) => entry.type === "file");
  await forEachParallel(files, async ({ path, mode, size }) => {
    const { fd } = openRegularFile(source.fd, parseInnerPath(path));
    // Not much more than was counted, whatever is added meanwhile.
    const content = createReadStream("", { fd, start: 0, end: size });
    await tree.write({ path: inside(path), mode: mode | 0o400 }, content);
  });
  const links = entries.filter((entry) => entry.type === "symlink");
  await tree.link(links.map(({ path, target: to }) => ({ path: inside(path), target: byteNameOf(to) })));
  return { files: entries.length, bytes, leftOut };
}

/**
 * Copies a directory of the workspace to a new one of this host: regular files and links that stay inside it. Git's own names,
 * special files and links that lead out are left out; no file gets more than read, write and execute.
 */
export async function getTree(
  tree: WorkspaceTree,
  path: string,
  destination: string,
  { limits, stateDir }: { readonly limits: ProjectLimits; readonly stateDir: string },
): Promise<CopiedTree> {
  const text = path === "" ? "" : parseRelativePath(path).text;
  const { nodes, truncated, skipped } = await tree.look(LOOK_FACTOR * limits.maxFiles);
  if (truncated) throw tooMuch("more than can be looked through", text === "" ? "." : text);
  if (text !== "" && nodes.get(text)?.type !== "directory")
    throw new SandboxError("FILE_TYPE", `Expected a directory, but ${JSON.stringify(text)} is not one`);
  makeEmpty(destination);
  using target = SourceDirectory.open(destination, { stateDir });
  const getting = new Getting(tree, text, target, limits);
  for (const problem of skipped) getting.leave(problem.path, "special");
  return await getting.run([...nodes.values()]);
}

class Getting {
  readonly #leftOut: LeftOut[] = [];
  readonly #host: HostTree;
  readonly #prefix: string;
  #files = 0;
  #bytes = 0;

  constructor(
    private readonly tree: WorkspaceTree,
    path: string,
    target: SourceDirectory,
    private readonly limits: ProjectLimits,
  ) {
    this.#host = new HostTree({ descriptor: target.fd, owner: target.owner });
    this.#prefix = path === "" ? "" : `${path}/`;
  }

  leave(inside: string, why: LeftOut["why"]): void {
    if (inside.startsWith(this.#prefix)) this.#leftOut.push({ path: inside.slice(this.#prefix.length), why });
  }

  async run(nodes: readonly TreeNode[]): Promise<CopiedTree> {
    const below = nodes.filter(({ path }) => path.startsWith(this.#prefix));
    const repositories = findGitDirectories(below.map(({ path }) => path.slice(this.#prefix.length)));
    for (const node of below) {
      const path = node.path.slice(this.#prefix.length);
      if (isInGit(path) || isBelowAny(path, repositories)) this.leave(node.path, "git");
      else if (isReserved(path)) this.leave(node.path, "special");
      else if (++this.#files > this.limits.maxFiles)
        throw tooMuch(`more than ${this.limits.maxFiles} files`, path);
      else if (node.type === "directory") this.#host.makeDirectory(path);
      else if (node.type === "symlink") this.#takeLink(node, path);
      else await this.#takeFile(node, path);
    }
    return { files: this.#files, bytes: this.#bytes, leftOut: this.#leftOut };
  }

  #takeLink({ path: inside, target = "" }: TreeNode, path: string): void {
    if (staysInside(path.split("/").length - 1, textOf(target))) this.#host.link(path, target);
    else this.leave(inside, "link");
  }

  async #takeFile({ path: inside, mode }: TreeNode, path: string): Promise<void> {
    let content: Readable;
    try {
      content = this.tree.read(inside);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      return this.leave(inside, "unreadable");
    }
    const file = this.#host.write(path, (mode & 0o100) === 0 ? 0o644 : 0o755);
    try {
      for await (const chunk of content as AsyncIterable<Buffer>) {
        this.#bytes += chunk.length;
        if (this.#bytes > this.limits.maxBytes) throw tooMuch("more bytes than may be copied", path);
        await file.take(chunk);
      }
      file.commit();
    } catch (error) {
      file.discard();
      throw error;
    }
  }
}

/** A directory that is new, or has nothing in it: no file of the person's is replaced. */
function makeEmpty(destination: string): void {
  const path = resolve(destination);
  try {
    mkdirSync(path);
  } catch (error) {
    if (systemCode(error) !== "EEXIST")
      throw new SandboxError("FILE_FAILED", `${destination} cannot be made (${systemCode(error)})`, {
        cause: error,
      });
    if (isEmpty(path)) return;
    throw new SandboxError("FILE_EXISTS", `${destination} is there already, and is not an empty directory`, {
      hint: "Name a directory that is not there.",
    });
  }
}

function isEmpty(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch {
    return false;
  }
}
