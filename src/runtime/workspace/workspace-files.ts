import type { Readable } from "node:stream";
import type { BootstrapTarget } from "./bootstrap-target.js";
import type { Snapshot } from "./change-tracker.js";
import type { Entry } from "./entry.js";
import type { WorkspaceTree } from "./workspace-tree.js";

/** What holds for the files of a workspace, however the host reaches them. */
export interface FileRules {
  /** The largest file that is read. Default 64 MiB. */
  readonly maxReadBytes?: number;
  /** Globs of paths that this API neither writes nor removes, with everything beneath them. */
  readonly denyWrite?: readonly string[];
}

export interface ListOptions {
  readonly recursive?: boolean;
  readonly limit?: number;
}

export interface WriteOptions {
  /** Permission bits; default 0o644. */
  readonly mode?: number;
  /** Fail with FILE_EXISTS when something is there. */
  readonly exclusive?: boolean;
}

export interface WriteStreamOptions extends WriteOptions {
  /** More than this is FILE_TOO_LARGE, and nothing is written. */
  readonly maxBytes?: number;
}

/** What a stream's pieces may be. */
export type ByteSource = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

/**
 * A session's files as the host reaches them: `AgentWorkspace` through a directory of this host, the sandbox room's
 * `RunnerWorkspace` through the guest. Paths are relative to the workspace; errors and limits are the same.
 */
export interface WorkspaceFiles {
  /** Reads a whole file, up to `maxReadBytes`. */
  readFile(path: string, options?: { readonly maxBytes?: number }): Promise<Buffer>;
  /** Streams a file. Read the stream to its end or destroy it. */
  createReadStream(path: string, options?: { readonly maxBytes?: number }): Promise<Readable>;
  /** Writes a file in one step: readers see the old content or the new. Makes missing directories. */
  writeFile(path: string, data: Uint8Array | string, options?: WriteOptions): Promise<void>;
  /** Creates a file that must not exist; a reader may see it half written. */
  writeNew(path: string, data: Uint8Array | string, options?: { readonly mode?: number }): Promise<void>;
  /** Writes a file from a stream, in one step at its end. Resolves to the number of bytes. */
  writeStream(path: string, source: ByteSource, options?: WriteStreamOptions): Promise<number>;
  /** Lists a directory, sorted by path. */
  list(path?: string, options?: ListOptions): Promise<Entry[]>;
  /** Like `list`, and says whether something was left out. */
  scan(path?: string, options?: ListOptions): Promise<{ entries: Entry[]; truncated: boolean }>;
  /** What stands at a path; a symbolic link is described, not followed. */
  stat(path: string): Promise<Entry>;
  /** True when something stands at the path, be it a dangling link. */
  exists(path: string): Promise<boolean>;
  /** Makes a directory and the missing ones above it. One that is already there is fine. */
  mkdir(path: string): Promise<void>;
  /** Removes a file, a link or an empty directory; with `recursive`, a whole tree. */
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<void>;
  /** Gives a file, a link or a directory another path. Makes missing directories; FILE_EXISTS: something is there. */
  move(from: string, to: string): Promise<void>;
  /** What the files look like now, without the excluded paths. It stops when looking takes too long. @internal */
  snapshot(excluded?: readonly string[]): Snapshot | Promise<Snapshot>;
  /** All of it at once, past `denyWrite`. @internal */
  readonly tree: WorkspaceTree;
  /** True for a path that `denyWrite` names, or that lies beneath one. */
  isProtected(path: string): boolean;
  /** Where a bootstrap puts what it copies. @internal */
  bootstrapTarget(): BootstrapTarget;
  close(): void;
}
