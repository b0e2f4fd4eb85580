import type { Readable } from "node:stream";
import {
  type Collected,
  type CollectOptions,
  collectOutputFiles,
  type Entry,
  type InputFile,
  putInputFiles,
  type WorkspaceFiles,
} from "../../workspace/index.js";

/** A sparse file of any size costs its maker nothing; reading it must end. */
const MAX_STREAM_BYTES = 16 * 1024 ** 3;

/** Who wants to know what happens to the files. */
export interface FilesListener {
  /** Told before anything else; throws when the sandbox has stopped. */
  used(): void;
  /** Called before a read that does not count as use; returns the files that programs run from. Throws as `used` does. */
  looked(): ReadonlySet<string>;
  /** Told before and after anything is written, so that it is not taken for the next program's work. */
  changed(): void;
}

/** A session's files. Paths are relative to its workspace. */
export class SandboxFiles {
  readonly #workspace: WorkspaceFiles;
  readonly #listener: FilesListener;

  /** @internal */
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

  /** Whole or not at all. `mode`: of the file; left out: 644. */
  async write(
    path: string,
    data: Uint8Array | string,
    options: { readonly mode?: number } = {},
  ): Promise<void> {
    await this.#change((workspace) => workspace.writeFile(path, data, options));
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

  /** The same, and says whether there are more than so many entries: then some are left out. */
  async scan(
    path = ".",
    options: { readonly recursive?: boolean } = {},
  ): Promise<{ readonly entries: readonly Entry[]; readonly truncated: boolean }> {
    return this.#use().scan(path, options);
  }

  /** The same for a watcher: the sandbox is as idle as before. Files that programs run from are left out. */
  async look(
    path: string,
    options: { readonly recursive: boolean; readonly limit: number },
  ): Promise<{ readonly entries: readonly Entry[]; readonly truncated: boolean }> {
    const programs = this.#listener.looked();
    const before = new Set(programs);
    const { entries, truncated } = await this.#workspace.scan(path, options);
    return {
      entries: entries.filter((each) => !before.has(each.path) && !programs.has(each.path)),
      truncated,
    };
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

  /** FILE_EXISTS: something is there already. */
  async move(from: string, to: string): Promise<void> {
    await this.#change((workspace) => workspace.move(from, to));
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
