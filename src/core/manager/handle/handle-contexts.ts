import type { SandboxSessionContexts, SessionContext } from "@skerry/client";
import { checkOptions } from "../../../kit/check-options.js";
import {
  type Checkpoint,
  type CodeContext,
  DEFAULT_LANGUAGE,
  type Execution,
  type ResultEvent,
  type RunningSandbox,
} from "../../../runtime/sandbox/index.js";
import { workValue } from "../call/file-call.js";
import type { ToolCall, ToolResult } from "../call/tool-call.js";
import { idOf, invalid } from "./check-arguments.js";
import type { HandleCaller, HandleHost } from "./handle-host.js";

const RUN_OPTIONS = {
  stdin: true,
  timeoutMs: true,
  maxOutputBytes: true,
  files: true,
  signal: true,
} as const;

/** What is known of a context. */
export type ContextInfo = Pick<
  CodeContext,
  "id" | "language" | "state" | "ending" | "createdAt" | "executionCount" | "checkpoints"
>;

/** A session's contexts. They go with its sandbox. */
export class HandleContexts implements SandboxSessionContexts {
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: HandleHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  async create(options: { readonly id?: string; readonly language?: string } = {}): Promise<HandleContext> {
    return this.get((await this.createInfo(options)).id);
  }

  /** Makes one, and says what is known of it. @internal */
  async createInfo(
    options: { readonly id?: string | undefined; readonly language?: string } = {},
  ): Promise<ContextInfo> {
    const { id, language = DEFAULT_LANGUAGE } = checkOptions(options, { id: true, language: true });
    const summary = `make a context for ${String(language)}`;
    const work = async (sandbox: RunningSandbox) => infoOf(await sandbox.createContext({ language, id }));
    return useSandbox(this.#host, { ...this.#caller, language }, summary, work);
  }

  list(): Promise<readonly ContextInfo[]> {
    return this.#use("list the contexts", async (sandbox) => sandbox.listContexts().map(infoOf));
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
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: HandleHost, caller: HandleCaller, id: string) {
    this.id = id;
    this.#host = host;
    this.#caller = caller;
  }

  /** Runs code in it: await the result, or iterate the events. */
  run(
    code: string,
    options: Pick<ToolCall, "stdin" | "timeoutMs" | "maxOutputBytes" | "files" | "signal"> = {},
  ): Execution<ToolResult, ResultEvent> {
    return this.#host.executeForHandle(() => {
      if (typeof code !== "string")
        throw invalid("A program's code is text", 'For example context.run("1 + 1").');
      const context = idOf(this.id, "context");
      return { ...checkOptions(options, RUN_OPTIONS), ...this.#caller, code, context };
    });
  }

  interrupt(): Promise<boolean> {
    return this.#use("interrupt the context", async (context) => context.interrupt());
  }

  async restart(): Promise<void> {
    await this.restartInfo();
  }

  /** Restarts it, and says what is known of it then. @internal */
  restartInfo(): Promise<ContextInfo> {
    return this.#use("restart the context", async (context) => {
      await context.restart();
      return infoOf(context);
    });
  }

  async checkpoint(options: { readonly files?: boolean } = {}): Promise<Checkpoint> {
    const { files = false } = checkOptions(options, { files: true });
    return this.#use("save the context", (context) => context.checkpoint({ files }));
  }

  async rollback(checkpoint: string | { readonly id: string }): Promise<void> {
    await this.rollbackInfo(checkpoint);
  }

  /** Goes back, and says what is known of it then. @internal */
  async rollbackInfo(checkpoint: string | { readonly id: string }): Promise<ContextInfo> {
    const id = idOf(checkpoint, "checkpoint");
    return this.#use("roll back the context", async (context) => {
      await context.rollback(id);
      return infoOf(context);
    });
  }

  async fork(): Promise<HandleContext> {
    const { id } = await this.forkInfo();
    return new HandleContext(this.#host, this.#caller, id);
  }

  /** Forks it, and says what is known of the fork. @internal */
  forkInfo(): Promise<ContextInfo> {
    return this.#use("fork the context", async (context) => infoOf(await context.fork()));
  }

  delete(): Promise<void> {
    return this.#use("end the context", (context) => context.close());
  }

  async #use<Value>(summary: string, work: (context: CodeContext) => Promise<Value>): Promise<Value> {
    const what = `${summary} ${idOf(this.id, "context")}`;
    return useSandbox(this.#host, this.#caller, what, (sandbox) => work(sandbox.context(this.id)));
  }
}

/** As it is now: a context itself changes. */
function infoOf({
  id,
  language,
  state,
  ending,
  createdAt,
  executionCount,
  checkpoints,
}: CodeContext): ContextInfo {
  return { id, language, state, ending, createdAt, executionCount, checkpoints };
}

async function useSandbox<Value>(
  host: HandleHost,
  caller: HandleCaller & { readonly language?: string },
  summary: string,
  work: (sandbox: RunningSandbox) => Promise<Value>,
): Promise<Value> {
  return workValue(await host.useSandbox({ ...caller, tool: "run_code", summary, paths: [], work }));
}
