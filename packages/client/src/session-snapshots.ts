import { type Answer, type CallOptions, call, fill } from "./api.js";
import type { Body, Transport } from "./transport.js";

const ALL = "/v1/sessions/{sessionId}/snapshots";
const ONE = "/v1/sessions/{sessionId}/snapshots/{id}";
const TAR = "application/x-tar";

export type SnapshotInfo = Answer<typeof ALL, "post">;
export type RestoreReport = Answer<`${typeof ONE}/restore`, "post">;

/** A session's files as they were. */
export class SessionSnapshots {
  readonly #transport: Transport;
  readonly #session: string;

  /** @internal */
  constructor(transport: Transport, session: string) {
    this.#transport = transport;
    this.#session = session;
  }

  /** Keeps all files as they are now. */
  create({ signal, ...json }: CallOptions & { readonly name?: string } = {}): Promise<SnapshotInfo> {
    return call(this.#transport, "post", ALL, { path: { sessionId: this.#session }, json }, { signal });
  }

  /** The newest first. */
  async list(options: CallOptions = {}): Promise<readonly SnapshotInfo[]> {
    return (await call(this.#transport, "get", ALL, { path: { sessionId: this.#session } }, options)).items;
  }

  async delete(snapshot: string | { readonly id: string }, options: CallOptions = {}): Promise<void> {
    await call(this.#transport, "delete", ONE, { path: this.#names(snapshot) }, options);
  }

  /** Makes the files what they were. */
  restore(snapshot: string | { readonly id: string }, options: CallOptions = {}): Promise<RestoreReport> {
    const input = { path: this.#names(snapshot) };
    return call(this.#transport, "post", `${ONE}/restore`, input, options);
  }

  /** As an uncompressed tar. */
  async export(
    snapshot: string | { readonly id: string },
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const path = fill(`${ONE}/export`, this.#names(snapshot));
    return (await this.#transport.request("GET", path, options)).body ?? new Blob([]).stream();
  }

  /** A snapshot of what an uncompressed tar has. */
  import(
    archive: Uint8Array | Blob | ReadableStream<Uint8Array>,
    { name, signal }: CallOptions & { readonly name?: string } = {},
  ): Promise<SnapshotInfo> {
    const body = { type: TAR, content: archive as Body };
    const path = fill(`${ALL}/import`, { sessionId: this.#session });
    return this.#transport.json("POST", path, { query: { name }, body, signal });
  }

  #names(snapshot: string | { readonly id: string }) {
    return { sessionId: this.#session, id: typeof snapshot === "string" ? snapshot : snapshot.id };
  }
}
