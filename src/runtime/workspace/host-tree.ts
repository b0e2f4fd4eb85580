import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  createReadStream,
  type Dirent,
  futimesSync,
  lchownSync,
  lstatSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import type { Readable } from "node:stream";
import { systemCode } from "../../kit/errors.js";
import { byteNameOf, entryPath, textOf } from "./byte-name.js";
import type { WorkspaceHandle } from "./descriptor-walk.js";
import {
  beneath,
  duplicateDirectory,
  makeDirectories,
  openDirectory,
  openEntryDirectory,
  openRegularFile,
  withParent,
} from "./descriptor-walk.js";
import { fileError } from "./file-errors.js";
import { isUnfinished, PendingFile, removeIfStale } from "./pending-file.js";
import { MAX_PATH_BYTES, parseInnerPath } from "./relative-path.js";
import { SparseWriter } from "./sparse-write.js";
import { TimeSlice } from "./time-slice.js";
import { openEntries } from "./tree-scan.js";
import { TREE_MAX_DEPTH, type Tree, type TreeNode, type TreeProblem } from "./workspace-tree.js";

/** A session's files on this host, walked from open directories: no link in it is ever followed. */
export class HostTree {
  constructor(private readonly workspace: WorkspaceHandle) {}

  /** Looks through a directory at a time; others get their turn in between. */
  async look(maxEntries: number): Promise<Tree> {
    const nodes = new Map<string, TreeNode>();
    const skipped: TreeProblem[] = [];
    let isFull = false;
    let isHidden = false;
    let isTooDeep = false;
    const slice = new TimeSlice();
    const directories = [""];
    const take = (fd: number, prefix: string, { name }: Dirent): void => {
      const node = describeEntry(entryPath(fd, name), name, prefix, skipped);
      if (node === "hidden") isHidden = true;
      if (node === undefined || node === "hidden") return;
      nodes.set(node.path, node);
      if (node.type !== "directory") return;
      if (node.path.split("/").length < TREE_MAX_DEPTH) directories.push(node.path);
      else isTooDeep = true;
    };
    for (let at = directories.pop(); at !== undefined && !isFull; at = directories.pop()) {
      const fd = this.#enter(at);
      if (fd === undefined) continue;
      const entries = openEntries(fd);
      try {
        for (let entry = entries?.readSync(); entry; entry = entries?.readSync()) {
          isFull = nodes.size + skipped.length >= maxEntries;
          if (isFull) break;
          take(fd, at === "" ? "" : `${at}/`, entry);
          await slice.pass();
        }
      } catch (error) {
        throw fileError(error, at);
      } finally {
        entries?.closeSync();
        closeSync(fd);
      }
      isHidden ||= entries === undefined;
    }
    const isCut = isFull || isHidden;
    return { nodes, skipped, truncated: isCut || isTooDeep, isOnlyTooDeep: isTooDeep && !isCut };
  }

  /** What stands at the path now. */
  at(path: string): TreeNode | undefined {
    return withParent(this.workspace.descriptor, parseInnerPath(path), (fd, leaf) => {
      const prefix = path.slice(0, path.length - leaf.length);
      return describe(beneath(fd, leaf), byteNameOf(leaf), prefix, []);
    });
  }

  /** An open file of it as a stream; the caller destroys it. */
  read(path: string): Readable {
    return createReadStream("", { fd: this.#openFile(path), start: 0 });
  }

  async hash(path: string): Promise<string> {
    const hash = createHash("sha256");
    for await (const chunk of this.read(path)) hash.update(chunk as Buffer);
    return hash.digest("hex");
  }

  /** A file that takes its place only when it is whole. */
  write(path: string, mode: number): IncomingFile {
    const { components } = parseInnerPath(path);
    const { descriptor, owner } = this.workspace;
    const above = makeDirectories(descriptor, components.slice(0, -1), owner);
    try {
      return new IncomingFile(duplicateDirectory(above), components.at(-1)!, mode, owner, path);
    } catch (error) {
      throw fileError(error, path);
    } finally {
      if (above !== descriptor) closeSync(above);
    }
  }

  /** Not the directory's mode: that comes when everything is in it. */
  makeDirectory(path: string): void {
    const { descriptor, owner } = this.workspace;
    closeSync(makeDirectories(descriptor, parseInnerPath(path).components, owner));
  }

  /** The target is bytes that are never followed here. */
  link(path: string, target: string): void {
    const { owner, descriptor } = this.workspace;
    const above = makeDirectories(descriptor, parseInnerPath(path).components.slice(0, -1), owner);
    if (above !== descriptor) closeSync(above);
    this.#inParent(path, (handle) => {
      try {
        unlinkSync(handle);
      } catch (error) {
        if (systemCode(error) !== "ENOENT") throw error;
      }
      symlinkSync(Buffer.from(target, "latin1"), handle);
      if (owner !== undefined) lchownSync(handle, owner.uid, owner.gid);
    });
  }

  /** A directory must be empty. */
  remove({ path, type }: Pick<TreeNode, "path" | "type">): void {
    this.#inParent(path, (handle) => (type === "directory" ? rmdirSync(handle) : unlinkSync(handle)));
  }

  /** Of a directory or a regular file, through a descriptor: a mode set by name would follow a link. */
  setMode({ path, type }: Pick<TreeNode, "path" | "type">, mode: number): void {
    if (type === "directory") {
      this.#inParent(path, (handle) => through(openEntryDirectory(handle), (fd) => chmodSync(fd, mode)));
    } else {
      through(this.#openFile(path), (handle) => chmodSync(handle, mode));
    }
  }

  setTime(path: string, mtimeNs: bigint): void {
    const fd = this.#openFile(path);
    try {
      futimesSync(fd, seconds(mtimeNs), seconds(mtimeNs));
    } finally {
      closeSync(fd);
    }
  }

  #openFile(path: string): number {
    const { descriptor, owner } = this.workspace;
    return openRegularFile(descriptor, parseInnerPath(path), owner).fd;
  }

  #inParent(path: string, action: (handle: string) => void): void {
    withParent(this.workspace.descriptor, parseInnerPath(path), (fd, leaf) => action(beneath(fd, leaf)));
  }

  #enter(path: string): number | undefined {
    const { descriptor } = this.workspace;
    if (path === "") return duplicateDirectory(descriptor);
    try {
      return openDirectory(descriptor, path.split("/"));
    } catch {
      // Gone, or something else since it was seen.
      return undefined;
    }
  }
}

/** A file on its way to the host. Ends with `commit` or `discard`. */
export class IncomingFile {
  readonly path: string;
  received = 0;
  /** How much of the budget it holds. */
  reserved = 0;
  readonly #pending: PendingFile;
  readonly #content: SparseWriter;
  #open = true;

  /** Takes the directory's descriptor over. */
  constructor(
    private readonly directoryFd: number,
    private readonly leaf: string,
    mode: number,
    owner: WorkspaceHandle["owner"],
    path: string,
  ) {
    this.path = path;
    try {
      this.#pending = new PendingFile(directoryFd, mode, owner);
      this.#content = new SparseWriter(this.#pending.fd);
    } catch (error) {
      closeSync(directoryFd);
      throw error;
    }
  }

  async take(bytes: Uint8Array): Promise<void> {
    await this.#content.take(bytes);
  }

  /** Left out: the time is now. */
  commit(mtimeNs?: bigint): void {
    if (!this.#open) return;
    this.#open = false;
    try {
      this.#content.finish();
      if (mtimeNs !== undefined) futimesSync(this.#pending.fd, seconds(mtimeNs), seconds(mtimeNs));
      this.#pending.commit(this.leaf, false);
    } catch (error) {
      this.#pending.discard();
      throw fileError(error, this.path);
    } finally {
      closeSync(this.directoryFd);
    }
  }

  discard(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#pending.discard();
    closeSync(this.directoryFd);
  }
}

/** A name that only this host gives, to files that it has not written whole: nothing of a sandbox may come under it. */
export function isReserved(path: string): boolean {
  return isUnfinished(path.slice(path.lastIndexOf("/") + 1));
}

/** Undefined: there is nothing to report of. Hidden: a directory that can be read but not searched shows names only. */
function describeEntry(...entry: Parameters<typeof describe>): TreeNode | "hidden" | undefined {
  try {
    return describe(...entry);
  } catch (error) {
    const code = systemCode(error);
    if (code === "EACCES") return "hidden";
    // Gone, or no link any more, since it was seen.
    if (code === "ENOENT" || code === "EINVAL") return undefined;
    throw error;
  }
}

function describe(
  handle: string | Buffer,
  name: string,
  prefix: string,
  skipped: TreeProblem[],
): TreeNode | undefined {
  const stat = lstatSync(handle, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (isUnfinished(name) && stat.isFile()) {
    removeIfStale(handle, Number(stat.ctimeMs));
    return undefined;
  }
  const text = textOf(name);
  const path = prefix + text;
  if (byteNameOf(text) !== name || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    skipped.push(unaddressable(path));
    return undefined;
  }
  const type = stat.isFile() ? "file" : stat.isDirectory() ? "directory" : "symlink";
  if (type === "symlink" && !stat.isSymbolicLink()) {
    skipped.push(special(path));
    return undefined;
  }
  const { mtimeNs, ctimeNs, ino } = stat;
  const target = type === "symlink" ? readlinkSync(handle, "buffer").toString("latin1") : undefined;
  return {
    path,
    type,
    mode: Number(stat.mode) & 0o777,
    size: Number(stat.size),
    mtimeNs,
    ctimeNs,
    ino,
    ...(target !== undefined && { target }),
  };
}

export function unaddressable(path: string): TreeProblem {
  return { path, code: "INVALID_ARGUMENT", message: "Its name is not UTF-8, or too long" };
}

export function reserved(path: string): TreeProblem {
  return { path, code: "FILE_DENIED", message: "Skerry gives such names to its own unfinished files" };
}

export function special(path: string): TreeProblem {
  return { path, code: "FILE_TYPE", message: "It is neither a file, nor a directory, nor a symbolic link" };
}

function through(fd: number, action: (handle: string) => void): void {
  try {
    action(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}

function seconds(ns: bigint): number {
  return Number(ns / 1000n) / 1e6;
}
