import type { Answer, CallOptions, Input, ItemRoutes, SessionRoutes } from "./api.js";
import { codeOf, idOf } from "./check-arguments.js";
import { checkOptions, type OptionNames, SIGNAL } from "./check-options.js";
import { RemoteExecution } from "./execution.js";

const ALL = "/v1/sessions/{sessionId}/contexts";
const ONE = "/v1/sessions/{sessionId}/contexts/{id}";

export type ContextInfo = Answer<typeof ALL, "post">;
export type CheckpointInfo = ContextInfo["checkpoints"][number];
export type CodeRequest = Input<`${typeof ONE}/execute`, "post">["json"];

export interface ContextRunOptions extends CallOptions, Omit<CodeRequest, "code" | "language"> {}

const CONTEXT_RUN: OptionNames<ContextRunOptions> = {
  ...SIGNAL,
  stdin: true,
  timeoutMs: true,
  maxOutputBytes: true,
  files: true,
  role: true,
  agentId: true,
};

/** Code that keeps its state between runs. It goes with the session's sandbox. */
export class SessionContexts {
  readonly #routes: SessionRoutes;

  /** @internal */
  constructor(routes: SessionRoutes) {
    this.#routes = routes;
  }

  /** Makes one. CONFLICT: there is one of that name. */
  async create(
    options: CallOptions & { readonly id?: string; readonly language?: string } = {},
  ): Promise<Context> {
    const { signal, ...json } = checkOptions(options, { ...SIGNAL, id: true, language: true });
    return this.get((await this.#routes.call("post", ALL, { json }, { signal })).id);
  }

  async list(options: CallOptions = {}): Promise<readonly ContextInfo[]> {
    checkOptions(options, SIGNAL);
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
  run(code: string, options: ContextRunOptions = {}): RemoteExecution {
    return new RemoteExecution(this.#routes.transport, () => {
      const { signal, ...rest } = checkOptions(options, CONTEXT_RUN);
      const json: CodeRequest = { ...codeOf(code, 'context.run("1 + 1")'), ...rest };
      return { path: this.#routes.at(`${ONE}/execute`), json, signal };
    });
  }

  /** False: nothing ran. */
  async interrupt(options: CallOptions = {}): Promise<boolean> {
    checkOptions(options, SIGNAL);
    return (await this.#routes.call("post", `${ONE}/interrupt`, {}, options)).interrupted;
  }

  /** Starts it again, with an empty state. */
  async restart(options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    await this.#routes.call("post", `${ONE}/restart`, {}, options);
  }

  /** Keeps the live state; with `files` the workspace's, too. */
  async checkpoint(options: CallOptions & { readonly files?: boolean } = {}): Promise<CheckpointInfo> {
    const { signal, ...json } = checkOptions(options, { ...SIGNAL, files: true });
    return this.#routes.call("post", `${ONE}/checkpoint`, { json }, { signal });
  }

  async rollback(checkpoint: string | { readonly id: string }, options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    const json = { checkpoint: idOf(checkpoint, "checkpoint") };
    await this.#routes.call("post", `${ONE}/rollback`, { json }, options);
  }

  /** Another context with the state of now. */
  async fork(options: CallOptions = {}): Promise<Context> {
    checkOptions(options, SIGNAL);
    const { id } = await this.#routes.call("post", `${ONE}/fork`, {}, options);
    return new Context(this.#routes, id);
  }

  async delete(options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    await this.#routes.call("delete", ONE, {}, options);
  }
}
