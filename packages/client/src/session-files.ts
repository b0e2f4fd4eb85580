import type { Answer, CallOptions, SessionRoutes } from "./api.js";
import { checkContent, workspacePath } from "./check-arguments.js";
import { checkOptions, SIGNAL } from "./check-options.js";
import { allOf } from "./pages.js";
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
    options: CallOptions & { readonly recursive?: boolean } = {},
  ): AsyncGenerator<FileEntry> {
    const { recursive = false, signal } = checkOptions(options, { ...SIGNAL, recursive: true });
    const query = {
      path: workspacePath(directory) || ".",
      recursive: recursive ? "true" : "false",
      limit: PAGE,
    } as const;
    yield* allOf((cursor) => this.#routes.call("get", ALL, { query: { ...query, ...cursor } }, { signal }));
  }

  async readBytes(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    const got = await this.#get(path, options);
    return new Uint8Array(
      await this.#routes.transport.read(got, (response) => response.arrayBuffer(), options),
    );
  }

  async read(path: string, options: CallOptions = {}): Promise<string> {
    return this.#routes.transport.read(
      await this.#get(path, options),
      (response) => response.text(),
      options,
    );
  }

  /** As it comes, without being kept in memory. */
  async readStream(path: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#routes.transport.stream(await this.#get(path, options), options);
  }

  /** Whole or not at all; missing directories are made. A stream is sent as it comes, where the platform can. */
  async write(
    path: string,
    content: string | Uint8Array | Blob | ReadableStream<Uint8Array>,
    options: CallOptions = {},
  ): Promise<void> {
    checkOptions(options, SIGNAL);
    checkContent(content);
    const body = { type: BYTES, content: content as Body };
    await this.#routes.transport.json("PUT", this.#at(path), { ...options, body });
  }

  /** With `recursive` also a directory and all that is in it. */
  async remove(path: string, options: CallOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    const { recursive = false, signal } = checkOptions(options, { ...SIGNAL, recursive: true });
    const query = { recursive: recursive ? "true" : "false" } as const;
    await this.#routes.of({ path: workspacePath(path) }).call("delete", ONE, { query }, { signal });
  }

  /** Where nothing is yet. */
  async move(from: string, to: string, options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    const json = { from: workspacePath(from), to: workspacePath(to) };
    await this.#routes.call("post", `${ALL}/move`, { json }, options);
  }

  /** With those above it; one that is there already is fine. */
  async mkdir(directory: string, options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    const json = { path: workspacePath(directory) };
    await this.#routes.call("post", `${ALL}/mkdir`, { json }, { ...options, isRepeatable: true });
  }

  async #get(path: string, options: CallOptions): Promise<Response> {
    checkOptions(options, SIGNAL);
    return this.#routes.transport.request("GET", this.#at(path), options);
  }

  #at(path: string): string {
    return this.#routes.of({ path: workspacePath(path) }).at(ONE);
  }
}
