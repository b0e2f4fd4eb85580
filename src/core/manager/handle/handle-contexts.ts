import type { SandboxSessionContexts, SessionContext } from "@skerry/client";
import { checkOptions } from "../../../kit/check-options.js";
import {
  type CodeContext,
  DEFAULT_LANGUAGE,
  type Execution,
  type ResultEvent,
  type RunningSandbox,
} from "../../../runtime/sandbox/index.js";
import { workValue } from "../call/file-call.js";
import type { ToolCall, ToolResult } from "../call/tool-call.js";
import { idOf, invalid } from "./check-arguments.js";
import type { HandleCaller, OpenHost } from "./handle-host.js";

const RUN_OPTIONS = { timeoutMs: true, maxOutputBytes: true, files: true, signal: true } as const;

/** A session's contexts. They go with its sandbox. */
export class HandleContexts implements SandboxSessionContexts {
  readonly #host: OpenHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: OpenHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  async create(options: { readonly id?: string; readonly language?: string } = {}): Promise<HandleContext> {
    const { id, language = DEFAULT_LANGUAGE } = checkOptions(options, { id: true, language: true });
    const summary = `make a context for ${String(language)}`;
    const work = (sandbox: RunningSandbox) =>
      sandbox.createContext({ language, ...(id !== undefined && { id }) });
    const made = await useSandbox(this.#host, { ...this.#caller, language }, summary, work);
    return this.get(made.id);
  }

  async list(): Promise<readonly Pick<CodeContext, "id" | "language" | "state" | "executionCount">[]> {
    const found = await this.#use("list the contexts", async (sandbox) => sandbox.listContexts());
    return found.map(({ id, language, state, executionCount }) => ({ id, language, state, executionCount }));
  }

  get(id: string): HandleContext {
    return new HandleContext(this.#host, this.#caller, id);
  }

  #use<Value>(summary: string, work: (sandbox: RunningSandbox) => Promise<Value>): Promise<Value> {
    return useSandbox(this.#host, this.#caller, summary, work);
  }
}

/** One context of a session. */
export class HandleContext implements SessionContext {
  readonly id: string;
  readonly #host: OpenHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: OpenHost, caller: HandleCaller, id: string) {
    this.id = id;
    this.#host = host;
    this.#caller = caller;
  }

  /** Runs code in it: await the result, or iterate the events. */
  run(
    code: string,
    options: Pick<ToolCall, "timeoutMs" | "maxOutputBytes" | "files" | "signal"> = {},
  ): Execution<ToolResult, ResultEvent> {
    return this.#host.execute(() => {
      if (typeof code !== "string") throw invalid("A program's code is text", 'For example context.run("1 + 1").');
      return { ...checkOptions(options, RUN_OPTIONS), ...this.#caller, code, context: this.id };
    });
  }

  interrupt(): Promise<boolean> {
    return this.#use("interrupt the context", async (context) => context.interrupt());
  }

  restart(): Promise<void> {
    return this.#use("restart the context", (context) => context.restart());
  }

  async checkpoint(options: { readonly files?: boolean } = {}): Promise<{ readonly id: string }> {
    const { files = false } = checkOptions(options, { files: true });
    return this.#use("save the context", (context) => context.checkpoint({ files }));
  }

  async rollback(checkpoint: string | { readonly id: string }): Promise<void> {
    const id = idOf(checkpoint, "checkpoint");
    return this.#use("roll back the context", (context) => context.rollback(id));
  }

  async fork(): Promise<HandleContext> {
    const { id } = await this.#use("fork the context", (context) => context.fork());
    return new HandleContext(this.#host, this.#caller, id);
  }

  delete(): Promise<void> {
    return this.#use("end the context", (context) => context.close());
  }

  #use<Value>(summary: string, work: (context: CodeContext) => Promise<Value>): Promise<Value> {
    return useSandbox(this.#host, this.#caller, summary, (sandbox) => work(sandbox.context(this.id)));
  }
}

async function useSandbox<Value>(
  host: OpenHost,
  caller: HandleCaller & { readonly language?: string },
  summary: string,
  work: (sandbox: RunningSandbox) => Promise<Value>,
): Promise<Value> {
  return workValue(await host.useSandbox({ ...caller, tool: "code_run", summary, paths: [], work }));
}
