import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  futimesSync,
  lchownSync,
  lstatSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  write,
} from "node:fs";
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { systemCode } from "../../../errors.js";
import type { AgentWorkspace } from "../../../workspace/agent-workspace.js";
import { PendingFile } from "../../../workspace/atomic-write.js";
import { byteNameOf, textOf } from "../../../workspace/byte-name.js";
import {
  beneath,
  duplicateDirectory,
  makeDirectories,
  openDirectory,
  openEntryDirectory,
  openRegularFile,
  withParent,
} from "../../../workspace/descriptor-walk.js";
import { fileError } from "../../../workspace/file-errors.js";
import { parseInnerPath } from "../../../workspace/relative-path.js";
import { scanTree } from "../../../workspace/tree-scan.js";
import { readDescriptor } from "../transfer.js";
import type { Node, SyncProblem, Tree } from "./tree.js";

const MAX_DEPTH = 64;
const SLICE_MS = 8;
/** What a process that was killed while it wrote left behind. */
const UNFINISHED = /^\.skerry-[0-9a-f]{18}\.tmp$/;
const STALE_MS = 3_600_000;
const writeAsync = promisify(write);

/** The copy of a session's files on this host, walked from open directories: no link in it is ever followed. */
export class HostTree {
  readonly #workspace: AgentWorkspace;
  readonly #maxEntries: number;

  constructor(workspace: AgentWorkspace, maxEntries: number) {
    this.#workspace = workspace;
    this.#maxEntries = maxEntries;
  }

  /** Looks through a directory at a time; others get their turn in between. */
  async look(): Promise<Tree> {
    const nodes = new Map<string, Node>();
    const skipped: SyncProblem[] = [];
    let truncated = false;
    let sliceEnd = performance.now() + SLICE_MS;
    const directories = [""];
    for (let at = directories.pop(); at !== undefined; at = directories.pop()) {
      if (performance.now() > sliceEnd) {
        await setImmediate();
        sliceEnd = performance.now() + SLICE_MS;
      }
      const fd = this.#enter(at);
      if (fd === undefined) continue;
      const prefix = at === "" ? "" : `${at}/`;
      const limits = { maxEntries: this.#maxEntries - nodes.size, maxDepth: 1, recursive: false };
      try {
        const isCut = scanTree(fd, limits, (handle, name) => {
          const node = describe(handle, name, prefix, skipped);
          if (node === undefined) return false;
          nodes.set(node.path, node);
          if (node.type === "directory") {
            if (node.path.split("/").length < MAX_DEPTH) directories.push(node.path);
            else truncated = true;
          }
          return false;
        });
        truncated ||= isCut;
      } finally {
        closeSync(fd);
      }
    }
    return { nodes, skipped, truncated };
  }

  /** What stands at the path now. */
  at(path: string): Node | undefined {
    return withParent(this.#workspace.descriptor, parseInnerPath(path), (fd, leaf) => {
      const prefix = path.slice(0, path.length - leaf.length);
      return describe(beneath(fd, leaf), byteNameOf(leaf), prefix, []);
    });
  }

  /** An open file of it as a stream; whoever asked destroys it. */
  read(path: string): Readable {
    const { descriptor, owner } = this.#workspace;
    return readDescriptor(openRegularFile(descriptor, parseInnerPath(path), owner).fd);
  }

  async hash(path: string): Promise<string> {
    const hash = createHash("sha256");
    for await (const chunk of this.read(path)) hash.update(chunk as Buffer);
    return hash.digest("hex");
  }

  /** A file that takes its place only when it is whole. */
  write(path: string, mode: number): IncomingFile {
    const { components } = parseInnerPath(path);
    const { descriptor, owner } = this.#workspace;
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
    const { descriptor, owner } = this.#workspace;
    closeSync(makeDirectories(descriptor, parseInnerPath(path).components, owner));
  }

  /** The target is bytes that nobody here follows. */
  link(path: string, target: string): void {
    const { owner, descriptor } = this.#workspace;
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
  remove({ path, type }: Node): void {
    this.#inParent(path, (handle) => (type === "directory" ? rmdirSync(handle) : unlinkSync(handle)));
  }

  /** Of a directory or a regular file, through a descriptor: a mode set by name would follow a link. */
  setMode({ path, type }: Node, mode: number): void {
    if (type === "directory") {
      this.#inParent(path, (handle) => through(openEntryDirectory(handle), (fd) => chmodSync(fd, mode)));
    } else {
      const { fd } = openRegularFile(this.#workspace.descriptor, parseInnerPath(path));
      through(fd, (handle) => chmodSync(handle, mode));
    }
  }

  setTime(path: string, mtimeNs: bigint): void {
    const { fd } = openRegularFile(this.#workspace.descriptor, parseInnerPath(path));
    try {
      futimesSync(fd, seconds(mtimeNs), seconds(mtimeNs));
    } finally {
      closeSync(fd);
    }
  }

  #inParent(path: string, action: (handle: string) => void): void {
    withParent(this.#workspace.descriptor, parseInnerPath(path), (fd, leaf) => action(beneath(fd, leaf)));
  }

  #enter(path: string): number | undefined {
    const { descriptor } = this.#workspace;
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
  readonly #directoryFd: number;
  readonly #leaf: string;
  readonly #pending: PendingFile;
  #open = true;

  /** Takes the directory's descriptor over. */
  constructor(directoryFd: number, leaf: string, mode: number, owner: AgentWorkspace["owner"], path: string) {
    this.path = path;
    this.#directoryFd = directoryFd;
    this.#leaf = leaf;
    try {
      this.#pending = new PendingFile(directoryFd, mode, owner);
    } catch (error) {
      closeSync(directoryFd);
      throw error;
    }
  }

  async take(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await writeAsync(this.#pending.fd, bytes, at, bytes.length - at, null);
      at += bytesWritten;
    }
  }

  commit(mtimeNs: bigint): void {
    if (!this.#open) return;
    this.#open = false;
    try {
      futimesSync(this.#pending.fd, seconds(mtimeNs), seconds(mtimeNs));
      this.#pending.commit(this.#leaf, false);
    } catch (error) {
      this.#pending.discard();
      throw fileError(error, this.path);
    } finally {
      closeSync(this.#directoryFd);
    }
  }

  discard(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#pending.discard();
    closeSync(this.#directoryFd);
  }
}

/** A name that only this host gives, to files that it has not written whole: nothing of a sandbox may come under it. */
export function isReserved(path: string): boolean {
  return UNFINISHED.test(path.slice(path.lastIndexOf("/") + 1));
}

function describe(
  handle: string | Buffer,
  name: string,
  prefix: string,
  skipped: SyncProblem[],
): Node | undefined {
  const stat = lstatSync(handle, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (UNFINISHED.test(name) && stat.isFile()) {
    // Nobody but the kernel sets this time.
    if (Date.now() - Number(stat.ctimeMs) > STALE_MS) unlinkSync(handle);
    return undefined;
  }
  const text = textOf(name);
  const path = prefix + text;
  if (byteNameOf(text) !== name) {
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

export function unaddressable(path: string): SyncProblem {
  return { path, code: "INVALID_ARGUMENT", message: "Its name is not UTF-8, or too long" };
}

export function reserved(path: string): SyncProblem {
  return { path, code: "FILE_DENIED", message: "Skerry gives such names to its own unfinished files" };
}

export function special(path: string): SyncProblem {
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
