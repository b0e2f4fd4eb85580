import { type Answer, type CallOptions, call, fill, type Input } from "./api.js";
import { RemoteExecution } from "./execution.js";
import type { Transport } from "./transport.js";

const ALL = "/v1/sessions/{sessionId}/contexts";
const ONE = "/v1/sessions/{sessionId}/contexts/{id}";

export type ContextInfo = Answer<typeof ALL, "post">;
export type CheckpointInfo = ContextInfo["checkpoints"][number];
export type CodeRequest = Input<`${typeof ONE}/execute`, "post">["json"];

export interface ContextRunOptions extends CallOptions, Omit<CodeRequest, "code" | "language"> {}

/** Code that keeps its state between runs. It goes with the session's sandbox. */
export class SessionContexts {
  readonly #transport: Transport;
  readonly #session: string;

  /** @internal */
  constructor(transport: Transport, session: string) {
    this.#transport = transport;
    this.#session = session;
  }

  /** Makes one. CONFLICT: there is one of that name. */
  async create({
    signal,
    ...json
  }: CallOptions & { readonly id?: string; readonly language?: string } = {}): Promise<Context> {
    const path = { sessionId: this.#session };
    const { id } = await call(this.#transport, "post", ALL, { path, json }, { signal });
    return this.get(id);
  }

  async list({ signal }: CallOptions = {}): Promise<readonly ContextInfo[]> {
    const path = { sessionId: this.#session };
    return (await call(this.#transport, "get", ALL, { path }, { signal })).items;
  }

  /** One by its name, without asking whether it is there. */
  get(id: string): Context {
    return new Context(this.#transport, this.#session, id);
  }
}

/** One context. Only Python's have checkpoints and forks. */
export class Context {
  readonly id: string;
  readonly #transport: Transport;
  readonly #path: { readonly sessionId: string; readonly id: string };

  /** @internal */
  constructor(transport: Transport, session: string, id: string) {
    this.id = id;
    this.#transport = transport;
    this.#path = { sessionId: session, id };
  }

  /** Runs code in it: await the result, or iterate the events. */
  run(code: string, { signal, ...rest }: ContextRunOptions = {}): RemoteExecution {
    const json: CodeRequest = { code, ...rest };
    return new RemoteExecution(this.#transport, {
      path: fill(`${ONE}/execute`, this.#path),
      json,
      signal,
    });
  }

  /** False: nothing ran. */
  async interrupt(options: CallOptions = {}): Promise<boolean> {
    const input = { path: this.#path };
    return (await call(this.#transport, "post", `${ONE}/interrupt`, input, options)).interrupted;
  }

  /** Starts it again, with an empty state. */
  restart(options: CallOptions = {}): Promise<ContextInfo> {
    return call(this.#transport, "post", `${ONE}/restart`, { path: this.#path }, options);
  }

  /** Keeps the live state; with `files` the workspace's, too. */
  checkpoint({ signal, ...json }: CallOptions & { readonly files?: boolean } = {}): Promise<CheckpointInfo> {
    return call(this.#transport, "post", `${ONE}/checkpoint`, { path: this.#path, json }, { signal });
  }

  async rollback(checkpoint: string | { readonly id: string }, options: CallOptions = {}): Promise<void> {
    const json = { checkpoint: typeof checkpoint === "string" ? checkpoint : checkpoint.id };
    await call(this.#transport, "post", `${ONE}/rollback`, { path: this.#path, json }, options);
  }

  /** Another context with the state of now. */
  async fork(options: CallOptions = {}): Promise<Context> {
    const { id } = await call(this.#transport, "post", `${ONE}/fork`, { path: this.#path }, options);
    return new Context(this.#transport, this.#path.sessionId, id);
  }

  async delete(options: CallOptions = {}): Promise<void> {
    await call(this.#transport, "delete", ONE, { path: this.#path }, options);
  }
}
