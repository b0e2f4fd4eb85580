import type { Readable } from "node:stream";
import type { Instance } from "../backends/backend.js";
import { SandboxError } from "../errors.js";
import type { AgentWorkspace } from "../workspace/agent-workspace.js";
import type { Entry } from "../workspace/index.js";

/** A sparse file of any size costs its maker nothing; reading it must end. */
const MAX_STREAM_BYTES = 16 * 1024 ** 3;

/** Who wants to know what happens to the files. */
export interface FilesListener {
  /** Told before anything else; throws when the sandbox has stopped. */
  used(): void;
  /** Told before anything is written, so that it is not taken for the next program's work. */
  changed(): void;
}

/** A session's files. Paths are relative to its workspace. */
export class SandboxFiles {
  readonly #instance: Instance;
  readonly #workspace: AgentWorkspace | undefined;
  readonly #listener: FilesListener;

  constructor(instance: Instance, workspace: AgentWorkspace | undefined, listener: FilesListener) {
    this.#instance = instance;
    this.#workspace = workspace;
    this.#listener = listener;
  }

  async read(path: string): Promise<Buffer> {
    return this.#shared().readFile(path);
  }

  async readText(path: string): Promise<string> {
    return (await this.read(path)).toString("utf8");
  }

  async readStream(path: string): Promise<Readable> {
    return this.#shared().createReadStream(path, { maxBytes: MAX_STREAM_BYTES });
  }

  async write(path: string, data: Uint8Array | string): Promise<void> {
    this.#listener.changed();
    await this.#shared().writeFile(path, data);
  }

  async writeStream(path: string, data: Readable): Promise<void> {
    this.#listener.changed();
    await this.#shared().writeStream(path, data);
  }

  /** Fails when there already is something of that name. */
  async writeNew(path: string, data: Uint8Array | string): Promise<void> {
    await this.#shared().writeNew(path, data);
  }

  async list(path = ".", options: { readonly recursive?: boolean } = {}): Promise<Entry[]> {
    return this.#shared().list(path, options);
  }

  async stat(path: string): Promise<Entry> {
    return this.#shared().stat(path);
  }

  async exists(path: string): Promise<boolean> {
    return this.#shared().exists(path);
  }

  async mkdir(path: string): Promise<void> {
    this.#listener.changed();
    await this.#shared().mkdir(path);
  }

  async remove(path: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    this.#listener.changed();
    await this.#shared().remove(path, options);
  }

  #shared(): AgentWorkspace {
    this.#listener.used();
    if (this.#workspace !== undefined) return this.#workspace;
    throw new SandboxError(
      "UNSUPPORTED",
      `Sandbox ${this.#instance.id} has no directory that this host can reach`,
    );
  }
}
