import type { Readable } from "node:stream";
import {
  type Collected,
  type CollectOptions,
  collectOutputFiles,
  type Entry,
  type InputFile,
  putInputFiles,
  type WorkspaceFiles,
} from "../workspace/index.js";

/** A sparse file of any size costs its maker nothing; reading it must end. */
const MAX_STREAM_BYTES = 16 * 1024 ** 3;

/** Who wants to know what happens to the files. */
export interface FilesListener {
  /** Told before anything else; throws when the sandbox has stopped. */
  used(): void;
  /** Told before and after anything is written, so that it is not taken for the next program's work. */
  changed(): void;
}

/** A session's files. Paths are relative to its workspace. */
export class SandboxFiles {
  readonly #workspace: WorkspaceFiles;
  readonly #listener: FilesListener;

  constructor(workspace: WorkspaceFiles, listener: FilesListener) {
    this.#workspace = workspace;
    this.#listener = listener;
  }

  async read(path: string): Promise<Buffer> {
    return this.#use().readFile(path);
  }

  async readText(path: string): Promise<string> {
    return (await this.read(path)).toString("utf8");
  }

  async readStream(path: string): Promise<Readable> {
    return this.#use().createReadStream(path, { maxBytes: MAX_STREAM_BYTES });
  }

  async write(path: string, data: Uint8Array | string): Promise<void> {
    await this.#change((workspace) => workspace.writeFile(path, data));
  }

  async writeStream(path: string, data: Readable): Promise<void> {
    await this.#change((workspace) => workspace.writeStream(path, data));
  }

  /** Fails when there already is something of that name. */
  async writeNew(path: string, data: Uint8Array | string): Promise<void> {
    await this.#change((workspace) => workspace.writeNew(path, data));
  }

  /** Writes the files of a call. Every path is checked before the first byte is written. */
  async writeAll(files: readonly InputFile[]): Promise<void> {
    await this.#change((workspace) => putInputFiles(workspace, files));
  }

  /**
   * Reads the files at these paths and globs; what is missing or no regular file is skipped with its reason. Without
   * `take` all of them are kept in memory, and have 64 MiB together unless `maxBytes` says otherwise.
   */
  async collect(patterns: readonly string[], options: CollectOptions = {}): Promise<Collected> {
    const streams = options.take !== undefined && { maxBytes: MAX_STREAM_BYTES };
    return collectOutputFiles(this.#use(), patterns, { ...streams, ...options });
  }

  async list(path = ".", options: { readonly recursive?: boolean } = {}): Promise<Entry[]> {
    return this.#use().list(path, options);
  }

  async stat(path: string): Promise<Entry> {
    return this.#use().stat(path);
  }

  async exists(path: string): Promise<boolean> {
    return this.#use().exists(path);
  }

  async mkdir(path: string): Promise<void> {
    await this.#change((workspace) => workspace.mkdir(path));
  }

  async remove(path: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    await this.#change((workspace) => workspace.remove(path, options));
  }

  #use(): WorkspaceFiles {
    this.#listener.used();
    return this.#workspace;
  }

  async #change(action: (workspace: WorkspaceFiles) => Promise<unknown>): Promise<void> {
    const workspace = this.#use();
    this.#listener.changed();
    try {
      await action(workspace);
    } finally {
      this.#listener.changed();
    }
  }
}
