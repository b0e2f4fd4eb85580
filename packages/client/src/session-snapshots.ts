import type { Answer, CallOptions, SessionRoutes } from "./api.js";
import { refuseUnknown } from "./sandbox-error.js";
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
  create({ signal, ...json }: CallOptions & { readonly name?: string } = {}): Promise<SnapshotInfo> {
    return this.#routes.call("post", ALL, { json }, { signal });
  }

  /** The newest first. */
  async list(options: CallOptions = {}): Promise<readonly SnapshotInfo[]> {
    return (await this.#routes.call("get", ALL, {}, options)).items;
  }

  async delete(snapshot: string | { readonly id: string }, options: CallOptions = {}): Promise<void> {
    await this.#of(snapshot).call("delete", ONE, {}, options);
  }

  /** Makes the files what they were. */
  restore(snapshot: string | { readonly id: string }, options: CallOptions = {}): Promise<RestoreReport> {
    return this.#of(snapshot).call("post", `${ONE}/restore`, {}, options);
  }

  /** As an uncompressed tar. */
  async export(
    snapshot: string | { readonly id: string },
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const path = this.#of(snapshot).at(`${ONE}/export`);
    return (await this.#routes.transport.request("GET", path, options)).body ?? new Blob([]).stream();
  }

  /** A snapshot of what an uncompressed tar has. */
  async import(
    archive: Uint8Array | Blob | ReadableStream<Uint8Array>,
    { name, signal, ...unknown }: CallOptions & { readonly name?: string } = {},
  ): Promise<SnapshotInfo> {
    refuseUnknown(unknown);
    const body = { type: TAR, content: archive as Body };
    const path = this.#routes.at(`${ALL}/import`);
    return this.#routes.transport.json("POST", path, { query: { name }, body, signal });
  }

  #of(snapshot: string | { readonly id: string }) {
    return this.#routes.of({ id: typeof snapshot === "string" ? snapshot : snapshot.id });
  }
}
