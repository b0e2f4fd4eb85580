import type { Readable } from "node:stream";
import type { ErrorCode } from "../../kit/errors.js";

/** A whole tree is looked at so many levels deep. */
export const TREE_MAX_DEPTH = 64;

/** A file, directory or symbolic link of a workspace. */
export interface TreeNode {
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
  /** Permission bits, without set-user-id and its relatives. */
  readonly mode: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
  /** Where a link points to, one character for each byte. */
  readonly target?: string;
}

/** What cannot be copied, and why. The path is a program's own words. */
export interface TreeProblem {
  readonly path: string;
  readonly code: ErrorCode;
  readonly message: string;
}

/** A workspace as it was looked at. */
export interface Tree {
  readonly nodes: ReadonlyMap<string, TreeNode>;
  /** What is there and can never be copied: special files, and names that are not UTF-8. */
  readonly skipped: readonly TreeProblem[];
  /** True when there is more than was seen: nothing may be concluded from what is missing. */
  readonly truncated: boolean;
  /** True when that is only what lies deeper than `TREE_MAX_DEPTH`. */
  readonly isOnlyTooDeep: boolean;
}

/**
 * All of a workspace, to be kept and brought back: through a directory of this host, or through the guest. It knows no
 * `denyWrite`. What several calls leave undone is told by the next look, also where a call itself does not fail.
 */
export interface WorkspaceTree {
  /** Everything that is there now. */
  look(maxEntries: number): Promise<Tree>;
  /** A regular file's bytes. It may be gone, which this or the stream reports, or endless: the reader has to count. */
  read(path: string): Readable;
  /** Puts a file in its place when all of its content has come; its directory has to be there. */
  write(file: Pick<TreeNode, "path" | "mode">, content: Readable): Promise<void>;
  /** And those above them. */
  makeDirectories(paths: readonly string[]): Promise<void>;
  /** Puts symbolic links in place of whatever is there but a directory. */
  link(links: readonly Pick<TreeNode, "path" | "target">[]): Promise<void>;
  /** In this order. A directory that is not empty stays. */
  remove(nodes: readonly Pick<TreeNode, "path" | "type">[]): Promise<void>;
  /** With everything beneath, however deep. */
  removeTrees(paths: readonly string[]): Promise<void>;
  /** In this order, of files and directories. */
  setModes(nodes: readonly Pick<TreeNode, "path" | "type" | "mode">[]): Promise<void>;
  /** Of files. */
  setTimes(files: readonly Pick<TreeNode, "path" | "mtimeNs">[]): Promise<void>;
}
