import { type Answer, type CallOptions, call, fill } from "./api.js";
import { allOf } from "./pages.js";
import type { Body, Transport } from "./transport.js";

const ALL = "/v1/sessions/{sessionId}/files";
const ONE = "/v1/sessions/{sessionId}/files/{path}";
const BYTES = "application/octet-stream";
const PAGE = 1000;

export type FileEntry = Answer<typeof ALL, "get">["items"][number];

/** A session's files. Paths are relative to the workspace. */
export class SessionFiles {
  readonly #transport: Transport;
  readonly #session: string;

  /** @internal */
  constructor(transport: Transport, session: string) {
    this.#transport = transport;
    this.#session = session;
  }

  /** What is in a directory, by path. */
  list(
    directory = ".",
    { recursive = false, signal }: CallOptions & { readonly recursive?: boolean } = {},
  ): AsyncGenerator<FileEntry> {
    const query = { path: directory, recursive: recursive ? "true" : "false", limit: PAGE } as const;
    const path = { sessionId: this.#session };
    return allOf((cursor) =>
      call(this.#transport, "get", ALL, { path, query: { ...query, ...cursor } }, { signal }),
    );
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
    await this.#transport.json("PUT", this.#at(path), { ...options, body });
  }

  /** With `recursive` also a directory and all that is in it. */
  async remove(
    path: string,
    { recursive = false, signal }: CallOptions & { readonly recursive?: boolean } = {},
  ): Promise<void> {
    const input = { path: this.#names(path), query: { recursive: recursive ? "true" : "false" } } as const;
    await call(this.#transport, "delete", ONE, input, { signal });
  }

  /** Where nothing is yet. */
  async move(from: string, to: string, options: CallOptions = {}): Promise<void> {
    const input = { path: { sessionId: this.#session }, json: { from, to } };
    await call(this.#transport, "post", `${ALL}/move`, input, options);
  }

  /** With those above it; one that is there already is fine. */
  async mkdir(directory: string, options: CallOptions = {}): Promise<void> {
    const input = { path: { sessionId: this.#session }, json: { path: directory } };
    await call(this.#transport, "post", `${ALL}/mkdir`, input, { ...options, isRepeatable: true });
  }

  #get(path: string, options: CallOptions): Promise<Response> {
    return this.#transport.request("GET", this.#at(path), options);
  }

  #at(path: string): string {
    return fill(ONE, this.#names(path));
  }

  #names(path: string) {
    return { sessionId: this.#session, path };
  }
}
