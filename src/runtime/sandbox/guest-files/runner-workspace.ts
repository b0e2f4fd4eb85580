import type { Readable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import type {
  BootstrapTarget,
  ByteSource,
  Entry,
  FileRules,
  ListOptions,
  Snapshot,
  WorkspaceFiles,
  WriteOptions,
  WriteStreamOptions,
} from "../../workspace/index.js";
import {
  byteNameOf,
  bytesOf,
  DENIED_SCAN,
  DeniedPaths,
  foundNothing,
  linkError,
  parseInnerPath,
  parseRelativePath,
  quoted,
  type RelativePath,
  requireCount,
  requireElsewhere,
  requireMode,
  textOf,
  tooLarge,
  typeError,
} from "../../workspace/index.js";
import { createRunnerTarget } from "./bootstrap-target.js";
import { COMMAND_MS, FileCommands } from "./file-commands.js";
import { GuestTree } from "./guest-tree.js";
import { entryOfFound } from "./listing.js";
import { PendingWrites } from "./pending-writes.js";
import type { Inside } from "./run-inside.js";
import { collect, pieces, receiveFile, sendFile } from "./transfer.js";

const MEBIBYTE = 1024 * 1024;
const MAX_DEPTH = 64;
const LIST_ENTRIES = 10_000;
const SNAPSHOT_ENTRIES = 20_000;

/** A snapshot that takes longer is cut: the result of a program waits for it. */
const SNAPSHOT_MS = 5_000;
/** A guest may send a byte at a time; a whole file that takes longer has failed. */
const READ_MS = 600_000;

export interface RunnerWorkspaceOptions extends FileRules {
  /** How long anything inside may take at most. Left out: half a minute, minutes for what is work. */
  readonly timeoutMs?: number;
}

/**
 * A session's files through the guest, for a backend that shares no directory with this host. What a path reaches is
 * confined by the sandbox itself; that links are refused keeps the meaning of a path the same as with a directory.
 */
export class RunnerWorkspace implements WorkspaceFiles {
  readonly maxReadBytes: number;
  readonly #inside: Inside;
  readonly #denied: DeniedPaths;
  readonly #patienceMs: number;
  readonly #commands: FileCommands;
  readonly #writes = new PendingWrites();

  constructor(inside: Inside, options: RunnerWorkspaceOptions = {}) {
    this.#inside = inside;
    this.#denied = new DeniedPaths(options.denyWrite ?? []);
    this.maxReadBytes = requireCount("maxReadBytes", options.maxReadBytes) ?? 64 * MEBIBYTE;
    this.#patienceMs = options.timeoutMs ?? Number.POSITIVE_INFINITY;
    this.#commands = new FileCommands(inside, this.#patienceMs);
  }

  async readFile(path: string, options: { readonly maxBytes?: number } = {}): Promise<Buffer> {
    const cap = requireCount("maxBytes", options.maxBytes) ?? this.maxReadBytes;
    const maxBytes = Math.min(cap, this.maxReadBytes);
    return collect(await this.#receive(parseInnerPath(path), maxBytes, this.#atMost(READ_MS)));
  }

  async createReadStream(path: string, options: { readonly maxBytes?: number } = {}): Promise<Readable> {
    const maxBytes = requireCount("maxBytes", options.maxBytes) ?? this.maxReadBytes;
    return this.#receive(parseInnerPath(path), maxBytes);
  }

  async writeFile(path: string, data: Uint8Array | string, options: WriteOptions = {}): Promise<void> {
    await this.#send(this.#writable(path), pieces(bytesOf(data)), options);
  }

  async writeNew(
    path: string,
    data: Uint8Array | string,
    options: { readonly mode?: number } = {},
  ): Promise<void> {
    await this.writeFile(path, data, { ...options, exclusive: true });
  }

  async writeStream(path: string, source: ByteSource, options: WriteStreamOptions = {}): Promise<number> {
    const maxBytes = requireCount("maxBytes", options.maxBytes) ?? Number.POSITIVE_INFINITY;
    const parsed = this.#writable(path);
    let length = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const chunk of source) {
        const bytes = bytesOf(chunk);
        length += bytes.length;
        if (length > maxBytes) throw tooLarge(parsed.text, maxBytes);
        yield* pieces(bytes);
      }
    }
    await this.#send(parsed, counted(), options);
    return length;
  }

  async list(path = ".", options: ListOptions = {}): Promise<Entry[]> {
    return (await this.scan(path, options)).entries;
  }

  async scan(path = ".", options: ListOptions = {}): Promise<{ entries: Entry[]; truncated: boolean }> {
    const parsed = parseRelativePath(path);
    const maxEntries = requireCount("limit", options.limit) ?? LIST_ENTRIES;
    const maxDepth = options.recursive ? MAX_DEPTH : 1;
    const { found, truncated } = await this.#commands.list(parsed, { maxEntries, maxDepth });
    if (truncated && found.length === 0 && maxEntries > 0) {
      throw new SandboxError("FILE_DENIED", `${quoted(parsed.text)} may not be listed: permission denied`);
    }
    const prefix = parsed.text === "" ? "" : `${parsed.text}/`;
    const entries = found.map((each) => entryOfFound(each, prefix + textOf(each.path)));
    entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
    return { entries, truncated };
  }

  async stat(path: string): Promise<Entry> {
    const parsed = parseRelativePath(path);
    return entryOfFound(await this.#commands.look(parsed), parsed.text === "" ? "." : parsed.text);
  }

  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (error) {
      return foundNothing(error);
    }
  }

  async mkdir(path: string): Promise<void> {
    await this.#commands.make(this.#writable(path));
  }

  async remove(path: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    const parsed = this.#writable(path);
    const recursive = options.recursive ?? false;
    if (recursive && this.#denied.any && (await this.#commands.look(parsed)).type === "directory")
      await this.#refuseBeneath(parsed);
    await this.#commands.remove(parsed, recursive);
  }

  async move(from: string, to: string): Promise<void> {
    const [source, target] = [this.#writable(from), this.#writable(to)];
    requireElsewhere(source, target);
    const { type } = await this.#commands.look(source);
    if (this.#denied.any && type === "directory") await this.#refuseBeneath(source);
    await this.#commands.move(source, target);
  }

  async snapshot(excluded: readonly string[] = []): Promise<Snapshot> {
    const takenAtNs = BigInt(Date.now()) * 1_000_000n;
    const out = excluded.map(byteNameOf);
    const limits = { maxEntries: SNAPSHOT_ENTRIES, maxDepth: MAX_DEPTH };
    const [{ found, truncated }, isHalf] = await this.#writes.observe(() =>
      this.#commands.list(parseRelativePath("."), limits, SNAPSHOT_MS),
    );
    const files = found.filter(
      ({ path, type }) =>
        (type === "file" || type === "symlink") &&
        !isHalf(path) &&
        !out.some((each) => path === each || path.startsWith(`${each}/`)),
    );
    return { files: new Map(files.map((each) => [each.path, each])), truncated, takenAtNs };
  }

  bootstrapTarget(): BootstrapTarget {
    return createRunnerTarget(this.#inside, this.#atMost(COMMAND_MS));
  }

  isProtected(path: string): boolean {
    return this.#denied.covers(parseInnerPath(path).components);
  }

  /** Everything inside at once, for copying it. `denyWrite` does not apply: protected files get there this way. */
  get tree(): GuestTree {
    return new GuestTree(this.#inside, this.#commands, this.#writes);
  }

  /** Nothing to close: the wire is the instance's. */
  close(): void {}

  async #refuseBeneath(path: RelativePath): Promise<void> {
    const limits = { recursive: true, limit: DENIED_SCAN.maxEntries };
    const { entries, truncated } = await this.scan(path.text, limits);
    this.#denied.refuseListed(
      entries.map((entry) => entry.path),
      truncated,
      path.text,
    );
  }

  async #receive(path: RelativePath, maxBytes: number, totalMs?: number): Promise<Readable> {
    const { type, shown, size } = await this.#commands.look(path);
    if (type === "symlink") throw linkError(path.text);
    if (type !== "file") throw typeError(path.text, shown);
    if (size > maxBytes) throw tooLarge(path.text, maxBytes);
    return receiveFile(this.#inside.runner, this.#absolute(path), {
      shown: path.text,
      maxBytes,
      idleMs: this.#atMost(COMMAND_MS),
      ...(totalMs !== undefined && { totalMs }),
    });
  }

  /** The guest makes a file beside the target and renames it; an exclusive one takes the free name first. */
  async #send(path: RelativePath, source: ByteSource, options: WriteOptions): Promise<void> {
    const mode = requireMode(options.mode, 0o644);
    if (options.exclusive) await this.#commands.claim(path);
    else if (path.components.length > 1) await this.#commands.make(path, path.components.length - 1);
    const { runner } = this.#inside;
    const shown = path.text;
    const idleMs = this.#atMost(COMMAND_MS);
    try {
      await this.#writes.during(path.text, () =>
        sendFile(runner, this.#absolute(path), source, { shown, mode, idleMs }),
      );
    } catch (error) {
      if (options.exclusive) await this.#commands.remove(path, false).catch(() => undefined);
      throw error;
    }
  }

  #writable(path: string): RelativePath {
    const parsed = parseInnerPath(path);
    this.#denied.refuse(parsed.components);
    return parsed;
  }

  #absolute(path: RelativePath): string {
    return `${this.#inside.guestWorkspace}/${path.text}`;
  }

  #atMost(timeoutMs: number): number {
    return Math.min(timeoutMs, this.#patienceMs);
  }
}
