import type { Answer, CallOptions, SessionRoutes } from "./api.js";
import { checkContent, idOf } from "./check-arguments.js";
import { checkOptions, SIGNAL } from "./check-options.js";
import type { Body } from "./transport.js";

const ALL = "/v1/sessions/{sessionId}/snapshots";
const ONE = "/v1/sessions/{sessionId}/snapshots/{id}";
const TAR = "application/x-tar";

export type SnapshotInfo = Answer<typeof ALL, "post">;
export type RestoreReport = Answer<`${typeof ONE}/restore`, "post">;

/** A session's files as they were. */
export class SessionSnapshots {
  readonly #routes: SessionRoutes;

  /** @internal */
  constructor(routes: SessionRoutes) {
    this.#routes = routes;
  }

  /** Keeps all files as they are now. */
  async create(options: CallOptions & { readonly name?: string } = {}): Promise<SnapshotInfo> {
    const { signal, ...json } = checkOptions(options, { ...SIGNAL, name: true });
    return this.#routes.call("post", ALL, { json }, { signal });
  }

  /** The newest first. */
  async list(options: CallOptions = {}): Promise<readonly SnapshotInfo[]> {
    checkOptions(options, SIGNAL);
    return (await this.#routes.call("get", ALL, {}, options)).items;
  }

  async delete(snapshot: string | { readonly id: string }, options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    await this.#of(snapshot).call("delete", ONE, {}, options);
  }

  /** Makes the files what they were. */
  async restore(
    snapshot: string | { readonly id: string },
    options: CallOptions = {},
  ): Promise<RestoreReport> {
    checkOptions(options, SIGNAL);
    return this.#of(snapshot).call("post", `${ONE}/restore`, {}, options);
  }

  /** As an uncompressed tar. */
  async export(
    snapshot: string | { readonly id: string },
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    checkOptions(options, SIGNAL);
    const { transport } = this.#routes;
    const path = this.#of(snapshot).at(`${ONE}/export`);
    return transport.stream(await transport.request("GET", path, options), options);
  }

  /** A snapshot of what an uncompressed tar has. */
  async import(
    archive: Uint8Array | Blob | ReadableStream<Uint8Array>,
    options: CallOptions & { readonly name?: string } = {},
  ): Promise<SnapshotInfo> {
    const { name, signal } = checkOptions(options, { ...SIGNAL, name: true });
    checkContent(archive);
    const body = { type: TAR, content: archive as Body };
    const path = this.#routes.at(`${ALL}/import`);
    return this.#routes.transport.json("POST", path, { query: { name }, body, signal });
  }

  #of(snapshot: string | { readonly id: string }) {
    return this.#routes.of({ id: idOf(snapshot, "snapshot") });
  }
}
