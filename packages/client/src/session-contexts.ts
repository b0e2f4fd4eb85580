import type { Answer, CallOptions, Input, ItemRoutes, SessionRoutes } from "./api.js";
import { RemoteExecution } from "./execution.js";

const ALL = "/v1/sessions/{sessionId}/contexts";
const ONE = "/v1/sessions/{sessionId}/contexts/{id}";

export type ContextInfo = Answer<typeof ALL, "post">;
export type CheckpointInfo = ContextInfo["checkpoints"][number];
export type CodeRequest = Input<`${typeof ONE}/execute`, "post">["json"];

export interface ContextRunOptions extends CallOptions, Omit<CodeRequest, "code" | "language"> {}

/** Code that keeps its state between runs. It goes with the session's sandbox. */
export class SessionContexts {
  readonly #routes: SessionRoutes;

  /** @internal */
  constructor(routes: SessionRoutes) {
    this.#routes = routes;
  }

  /** Makes one. CONFLICT: there is one of that name. */
  async create({
    signal,
    ...json
  }: CallOptions & { readonly id?: string; readonly language?: string } = {}): Promise<Context> {
    return this.get((await this.#routes.call("post", ALL, { json }, { signal })).id);
  }

  async list(options: CallOptions = {}): Promise<readonly ContextInfo[]> {
    return (await this.#routes.call("get", ALL, {}, options)).items;
  }

  /** One by its name, without asking whether it is there. */
  get(id: string): Context {
    return new Context(this.#routes, id);
  }
}

/** One context. Only Python's have checkpoints and forks. */
export class Context {
  readonly id: string;
  readonly #routes: ItemRoutes;

  /** @internal */
  constructor(routes: SessionRoutes, id: string) {
    this.id = id;
    this.#routes = routes.of({ id });
  }

  /** Runs code in it: await the result, or iterate the events. */
  run(code: string, { signal, ...rest }: ContextRunOptions = {}): RemoteExecution {
    const json: CodeRequest = { code, ...rest };
    return new RemoteExecution(this.#routes.transport, {
      path: this.#routes.at(`${ONE}/execute`),
      json,
      signal,
    });
  }

  /** False: nothing ran. */
  async interrupt(options: CallOptions = {}): Promise<boolean> {
    return (await this.#routes.call("post", `${ONE}/interrupt`, {}, options)).interrupted;
  }

  /** Starts it again, with an empty state. */
  restart(options: CallOptions = {}): Promise<ContextInfo> {
    return this.#routes.call("post", `${ONE}/restart`, {}, options);
  }

  /** Keeps the live state; with `files` the workspace's, too. */
  checkpoint({ signal, ...json }: CallOptions & { readonly files?: boolean } = {}): Promise<CheckpointInfo> {
    return this.#routes.call("post", `${ONE}/checkpoint`, { json }, { signal });
  }

  async rollback(checkpoint: string | { readonly id: string }, options: CallOptions = {}): Promise<void> {
    const json = { checkpoint: typeof checkpoint === "string" ? checkpoint : checkpoint.id };
    await this.#routes.call("post", `${ONE}/rollback`, { json }, options);
  }

  /** Another context with the state of now. */
  async fork(options: CallOptions = {}): Promise<Context> {
    const { id } = await this.#routes.call("post", `${ONE}/fork`, {}, options);
    return new Context(this.#routes, id);
  }

  async delete(options: CallOptions = {}): Promise<void> {
    await this.#routes.call("delete", ONE, {}, options);
  }
}
