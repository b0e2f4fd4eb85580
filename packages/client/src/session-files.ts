import type { Answer, CallOptions, SessionRoutes } from "./api.js";
import { allOf } from "./pages.js";
import { refuseUnknown } from "./sandbox-error.js";
import type { Body } from "./transport.js";

const ALL = "/v1/sessions/{sessionId}/files";
const ONE = "/v1/sessions/{sessionId}/files/{path}";
const BYTES = "application/octet-stream";
const PAGE = 1000;

export type FileEntry = Answer<typeof ALL, "get">["items"][number];

/** A session's files. Paths are relative to the workspace. */
export class SessionFiles {
  readonly #routes: SessionRoutes;

  /** @internal */
  constructor(routes: SessionRoutes) {
    this.#routes = routes;
  }

  /** What is in a directory, by path. */
  async *list(
    directory = ".",
    { recursive = false, signal, ...unknown }: CallOptions & { readonly recursive?: boolean } = {},
  ): AsyncGenerator<FileEntry> {
    refuseUnknown(unknown);
    const query = { path: directory, recursive: recursive ? "true" : "false", limit: PAGE } as const;
    yield* allOf((cursor) => this.#routes.call("get", ALL, { query: { ...query, ...cursor } }, { signal }));
  }

  async readBytes(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#get(path, options)).arrayBuffer());
  }

  async read(path: string, options: CallOptions = {}): Promise<string> {
    return (await this.#get(path, options)).text();
  }

  /** As it comes, without being kept in memory. */
  async readStream(path: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return (await this.#get(path, options)).body ?? new Blob([]).stream();
  }

  /** Whole or not at all; missing directories are made. A stream is sent as it comes, where the platform can. */
  async write(
    path: string,
    content: string | Uint8Array | Blob | ReadableStream<Uint8Array>,
    options: CallOptions = {},
  ): Promise<void> {
    const body = { type: BYTES, content: content as Body };
    await this.#routes.transport.json("PUT", this.#at(path), { ...options, body });
  }

  /** With `recursive` also a directory and all that is in it. */
  async remove(
    path: string,
    { recursive = false, signal, ...unknown }: CallOptions & { readonly recursive?: boolean } = {},
  ): Promise<void> {
    refuseUnknown(unknown);
    const query = { recursive: recursive ? "true" : "false" } as const;
    await this.#routes.of({ path }).call("delete", ONE, { query }, { signal });
  }

  /** Where nothing is yet. */
  async move(from: string, to: string, options: CallOptions = {}): Promise<void> {
    await this.#routes.call("post", `${ALL}/move`, { json: { from, to } }, options);
  }

  /** With those above it; one that is there already is fine. */
  async mkdir(directory: string, options: CallOptions = {}): Promise<void> {
    const json = { path: directory };
    await this.#routes.call("post", `${ALL}/mkdir`, { json }, { ...options, isRepeatable: true });
  }

  #get(path: string, options: CallOptions): Promise<Response> {
    return this.#routes.transport.request("GET", this.#at(path), options);
  }

  #at(path: string): string {
    return this.#routes.of({ path }).at(ONE);
  }
}
