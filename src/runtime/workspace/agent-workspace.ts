import { constants as bufferLimits } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  write,
} from "node:fs";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { writeAll } from "../../kit/write-all.js";
import { type BootstrapTarget, createDescriptorTarget } from "./bootstrap-target.js";
import { boundedReadStream, readBounded } from "./bounded-read.js";
import { textOf } from "./byte-name.js";
import { type Snapshot, takeSnapshot } from "./change-tracker.js";
import { DeniedPaths } from "./denied-paths.js";
import {
  beneath,
  duplicateDirectory,
  makeDirectories,
  type Owner,
  openDirectory,
  openRegularFile,
  withParent,
} from "./descriptor-walk.js";
import { DirectoryTree } from "./directory-tree.js";
import { type Entry, entryOf } from "./entry.js";
import { bytesOf, foundNothing, requireCount, requireElsewhere, requireMode } from "./file-arguments.js";
import { fileError, quoted, tooLarge } from "./file-errors.js";
import { createFile, isUnfinished, PendingFile, removeIfStale, removeQuietly } from "./pending-file.js";
import { parseInnerPath, parseRelativePath, type RelativePath } from "./relative-path.js";
import { removeTree } from "./remove-tree.js";
import { scanTree } from "./tree-scan.js";
import type {
  ByteSource,
  FileRules,
  ListOptions,
  WorkspaceFiles,
  WriteOptions,
  WriteStreamOptions,
} from "./workspace-files.js";
import type { WorkspaceTree } from "./workspace-tree.js";

const MEBIBYTE = 1024 * 1024;
const LIST_MAX_DEPTH = 64;
/**
 * A program can make its workspace so large that looking at it holds up everybody else: about 20 ms for so many. They are
 * counted, not timed: on a slow host the changes of a few files must not be lost.
 */
const SNAPSHOT_ENTRIES = 4000;
const writeAsync = promisify(write);

export interface WorkspaceOptions extends FileRules {
  /** The user the sandbox runs as: new files are given to it. Undefined: ourselves. */
  readonly owner?: Owner;
}

/**
 * A session's files on this host. The guest controls every name and may change the tree at any moment, so every
 * path is walked from one open directory and no link is ever followed.
 */
export class AgentWorkspace implements WorkspaceFiles {
  readonly owner: Owner | undefined;
  readonly maxReadBytes: number;
  readonly #denied: DeniedPaths;
  #fd: number | undefined;

  private constructor(fd: number, options: WorkspaceOptions, denied: DeniedPaths) {
    this.#fd = fd;
    this.#denied = denied;
    this.owner = options.owner;
    this.maxReadBytes = options.maxReadBytes ?? 64 * MEBIBYTE;
  }

  /** Opens the workspace in a directory that exists. Close it when done. */
  static open(hostRoot: string, options: WorkspaceOptions = {}): AgentWorkspace {
    if (process.platform !== "linux") {
      throw new SandboxError("UNSUPPORTED", "Workspaces on the host need Linux (/proc/self/fd)", {
        hint: "Use a backend that keeps its files inside.",
      });
    }
    requireCount("maxReadBytes", options.maxReadBytes);
    const denied = new DeniedPaths(options.denyWrite ?? []);
    try {
      const fd = openSync(hostRoot, constants.O_RDONLY | constants.O_DIRECTORY);
      return new AgentWorkspace(fd, options, denied);
    } catch (error) {
      throw fileError(error, "");
    }
  }

  /** The open directory, for the rest of this room. Never keep it across an await. */
  get descriptor(): number {
    if (this.#fd === undefined) throw new SandboxError("FILE_FAILED", "The workspace is closed");
    return this.#fd;
  }

  get isOpen(): boolean {
    return this.#fd !== undefined;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Reads a whole file, up to `maxReadBytes`. */
  async readFile(path: string, options: { readonly maxBytes?: number } = {}): Promise<Buffer> {
    const parsed = parseInnerPath(path);
    const maxBytes = this.#readCap(options.maxBytes);
    return readBounded(openRegularFile(this.descriptor, parsed, this.owner), maxBytes, parsed.text);
  }

  /** Streams a file. Read the stream to its end or destroy it: it holds a descriptor. */
  async createReadStream(path: string, options: { readonly maxBytes?: number } = {}): Promise<Readable> {
    const parsed = parseInnerPath(path);
    const maxBytes = requireCount("maxBytes", options.maxBytes) ?? this.maxReadBytes;
    return boundedReadStream(openRegularFile(this.descriptor, parsed, this.owner), maxBytes, parsed.text);
  }

  /** Writes a file in one step: readers see the old content or the new. Makes missing directories. */
  async writeFile(path: string, data: Uint8Array | string, options: WriteOptions = {}): Promise<void> {
    const mode = requireMode(options.mode, 0o644);
    this.#inDirectoryOf(this.#writable(path), (directoryFd, leaf) => {
      const pending = new PendingFile(directoryFd, mode, this.owner);
      try {
        writeAll(pending.fd, bytesOf(data));
      } catch (error) {
        pending.discard();
        throw error;
      }
      pending.commit(leaf, options.exclusive ?? false);
    });
  }

  /** Creates a file that must not exist; faster than `writeFile`, but a reader may see it half written. */
  async writeNew(
    path: string,
    data: Uint8Array | string,
    options: { readonly mode?: number } = {},
  ): Promise<void> {
    const mode = requireMode(options.mode, 0o644);
    this.#inDirectoryOf(this.#writable(path), (directoryFd, leaf) => {
      const fd = createFile(directoryFd, leaf, mode, this.owner);
      try {
        writeAll(fd, bytesOf(data));
      } catch (error) {
        removeQuietly(directoryFd, leaf);
        throw error;
      } finally {
        closeSync(fd);
      }
    });
  }

  /** Writes a file from a stream, in one step at its end. Resolves to the number of bytes. */
  async writeStream(path: string, source: ByteSource, options: WriteStreamOptions = {}): Promise<number> {
    const mode = requireMode(options.mode, 0o644);
    const maxBytes = requireCount("maxBytes", options.maxBytes) ?? Number.POSITIVE_INFINITY;
    const parsed = this.#writable(path);
    // A descriptor of its own: the workspace may be closed while the stream runs, and its number reused.
    const directoryFd = this.#inDirectoryOf(parsed, duplicateDirectory);
    try {
      const pending = new PendingFile(directoryFd, mode, this.owner);
      let length = 0;
      try {
        for await (const chunk of source) {
          const bytes = bytesOf(chunk);
          length += bytes.length;
          if (length > maxBytes) throw tooLarge(parsed.text, maxBytes);
          for (let at = 0; at < bytes.length; ) {
            at += (await writeAsync(pending.fd, bytes, at, bytes.length - at, null)).bytesWritten;
          }
        }
      } catch (error) {
        pending.discard();
        throw error;
      }
      pending.commit(parsed.components.at(-1)!, options.exclusive ?? false);
      return length;
    } catch (error) {
      throw isSystemError(error) ? fileError(error, parsed.text) : error;
    } finally {
      closeSync(directoryFd);
    }
  }

  /** Lists a directory, sorted by path. Stops at the limit, or 64 levels down: `scan` says whether it did. */
  async list(path = ".", options: ListOptions = {}): Promise<Entry[]> {
    return (await this.scan(path, options)).entries;
  }

  /** Like `list`, and says whether something was left out. */
  async scan(path = ".", options: ListOptions = {}): Promise<{ entries: Entry[]; truncated: boolean }> {
    const parsed = parseRelativePath(path);
    const limits = {
      maxEntries: requireCount("limit", options.limit) ?? 10_000,
      maxDepth: LIST_MAX_DEPTH,
      recursive: options.recursive ?? false,
    };
    const prefix = parsed.text === "" ? "" : `${parsed.text}/`;
    const entries: Entry[] = [];
    const truncated = this.#inDirectory(parsed, (fd) =>
      scanTree(fd, limits, (handle, relative, { name }) => {
        const stat = lstatSync(handle, { throwIfNoEntry: false });
        if (isUnfinished(name) && stat?.isFile() && removeIfStale(handle, stat.ctimeMs)) return false;
        if (stat !== undefined) entries.push(entryOf(prefix + textOf(relative), stat));
        return true;
      }),
    );
    if (truncated && entries.length === 0 && limits.maxEntries > 0) {
      throw new SandboxError("FILE_DENIED", `${quoted(parsed.text)} may not be listed: permission denied`);
    }
    entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
    return { entries, truncated };
  }

  /** What stands at a path; a symbolic link is described, not followed. */
  async stat(path: string): Promise<Entry> {
    const parsed = parseRelativePath(path);
    if (parsed.text === "") return entryOf(".", fstatSync(this.descriptor));
    return withParent(this.descriptor, parsed, (fd, leaf) =>
      entryOf(parsed.text, lstatSync(beneath(fd, leaf))),
    );
  }

  /** True when something stands at the path, be it a dangling link. */
  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (error) {
      return foundNothing(error);
    }
  }

  /** Makes a directory and the missing ones above it. One that is already there is fine. */
  async mkdir(path: string): Promise<void> {
    const parsed = this.#writable(path);
    closeSync(makeDirectories(this.descriptor, parsed.components, this.owner));
  }

  /** Removes a file, a link or an empty directory; with `recursive`, a whole tree. */
  async remove(path: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    const parsed = this.#writable(path);
    const isFullDirectory = withParent(this.descriptor, parsed, (fd, leaf) => {
      try {
        unlinkSync(beneath(fd, leaf));
        return false;
      } catch (error) {
        if (systemCode(error) !== "EISDIR") throw error;
      }
      if (options.recursive) return true;
      rmdirSync(beneath(fd, leaf));
      return false;
    });
    if (!isFullDirectory) return;
    this.#inDirectory(parsed, (fd) => this.#denied.refuseBeneath(fd, parsed.text));
    await withParent(this.descriptor, parsed, (fd, leaf) => removeTree(fd, leaf, { shownAs: parsed.text }));
  }

  /** Gives a file, a link or a directory another path; FILE_EXISTS: something is there. */
  async move(from: string, to: string): Promise<void> {
    const [source, target] = [this.#writable(from), this.#writable(to)];
    requireElsewhere(source, target);
    withParent(this.descriptor, source, (sourceFd, name) => {
      if (lstatSync(beneath(sourceFd, name)).isDirectory())
        this.#inDirectory(source, (fd) => this.#denied.refuseBeneath(fd, source.text));
      this.#inDirectoryOf(target, (targetFd, leaf) => {
        const path = beneath(targetFd, leaf);
        // What a program puts there after this look is replaced: its own loss.
        if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw fileError({ code: "EEXIST" }, to);
        renameSync(beneath(sourceFd, name), path);
      });
    });
  }

  /** Looking holds up other sessions: past so many entries it stops, and says so. @internal */
  snapshot(excluded: readonly string[] = []): Snapshot {
    return takeSnapshot(this, { excluded, maxEntries: SNAPSHOT_ENTRIES });
  }

  /** @internal */
  get tree(): WorkspaceTree {
    return new DirectoryTree(this);
  }

  isProtected(path: string): boolean {
    return this.#denied.covers(parseInnerPath(path).components);
  }

  /** @internal */
  bootstrapTarget(): BootstrapTarget {
    return createDescriptorTarget(this);
  }

  #readCap(maxBytes: number | undefined): number {
    const cap = requireCount("maxBytes", maxBytes) ?? this.maxReadBytes;
    return Math.min(cap, this.maxReadBytes, bufferLimits.MAX_LENGTH - 1);
  }

  #inDirectory<T>(path: RelativePath, action: (fd: number) => T): T {
    const rootFd = this.descriptor;
    const fd = openDirectory(rootFd, path.components);
    try {
      return action(fd);
    } catch (error) {
      throw fileError(error, path.text);
    } finally {
      if (fd !== rootFd) closeSync(fd);
    }
  }

  #inDirectoryOf<T>(path: RelativePath, action: (fd: number, leaf: string) => T): T {
    const rootFd = this.descriptor;
    const fd = makeDirectories(rootFd, path.components.slice(0, -1), this.owner);
    try {
      return action(fd, path.components.at(-1)!);
    } catch (error) {
      throw fileError(error, path.text);
    } finally {
      if (fd !== rootFd) closeSync(fd);
    }
  }

  #writable(path: string): RelativePath {
    const parsed = parseInnerPath(path);
    this.#denied.refuse(parsed.components);
    return parsed;
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
