import type { Readable } from "node:stream";
import { systemCode } from "../../kit/errors.js";
import type { WorkspaceHandle } from "./descriptor-walk.js";
import { withParent } from "./descriptor-walk.js";
import { fileError } from "./file-errors.js";
import { HostTree } from "./host-tree.js";
import { parseInnerPath } from "./relative-path.js";
import { removeTree } from "./remove-tree.js";
import { TimeSlice } from "./time-slice.js";
import type { Tree, TreeNode, WorkspaceTree } from "./workspace-tree.js";

/** Errors of entries that a program inside changes meanwhile: the next listing has them. */
const PASSED_OVER: ReadonlySet<string | undefined> = new Set([
  "FILE_NOT_FOUND",
  "FILE_EXISTS",
  "FILE_TYPE",
  "PATH_TRAVERSAL",
]);

/** All of a workspace that is a directory of this host. */
export class DirectoryTree implements WorkspaceTree {
  readonly #host: HostTree;

  constructor(private readonly workspace: WorkspaceHandle) {
    this.#host = new HostTree(workspace);
  }

  look(maxEntries: number): Promise<Tree> {
    return this.#host.look(maxEntries);
  }

  read(path: string): Readable {
    return this.#host.read(path);
  }

  async write({ path, mode }: Pick<TreeNode, "path" | "mode">, content: Readable): Promise<void> {
    const file = this.#host.write(path, mode);
    try {
      for await (const chunk of content) await file.take(chunk as Buffer);
      file.commit();
    } catch (error) {
      file.discard();
      throw error instanceof Error && "syscall" in error ? fileError(error, path) : error;
    }
  }

  async makeDirectories(paths: readonly string[]): Promise<void> {
    await this.#each(paths, (path) => this.#host.makeDirectory(path));
  }

  async link(links: readonly Pick<TreeNode, "path" | "target">[]): Promise<void> {
    await this.#each(links, ({ path, target = "" }) => this.#host.link(path, target));
  }

  async remove(nodes: readonly Pick<TreeNode, "path" | "type">[]): Promise<void> {
    await this.#each(nodes, (node) => this.#host.remove(node));
  }

  async removeTrees(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      try {
        await withParent(this.workspace.descriptor, parseInnerPath(path), (fd, leaf) =>
          removeTree(fd, leaf, { shownAs: path }),
        );
      } catch (error) {
        if (!PASSED_OVER.has(systemCode(error))) throw error;
      }
    }
  }

  async setModes(nodes: readonly Pick<TreeNode, "path" | "type" | "mode">[]): Promise<void> {
    await this.#each(nodes, (node) => this.#host.setMode(node, node.mode));
  }

  async setTimes(files: readonly Pick<TreeNode, "path" | "mtimeNs">[]): Promise<void> {
    await this.#each(files, ({ path, mtimeNs }) => this.#host.setTime(path, mtimeNs));
  }

  async #each<T>(items: readonly T[], action: (item: T) => void): Promise<void> {
    const slice = new TimeSlice();
    for (const item of items) {
      try {
        action(item);
      } catch (error) {
        if (!PASSED_OVER.has(systemCode(error))) throw error;
      }
      await slice.pass();
    }
  }
}
