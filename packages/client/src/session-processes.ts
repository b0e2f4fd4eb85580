import type { Answer, CallOptions, Input, ItemRoutes, SessionRoutes } from "./api.js";
import { checkLanguage, codeOf, commandOf } from "./check-arguments.js";
import { checkOptions, SIGNAL } from "./check-options.js";
import { connectionLost, readEvents } from "./events.js";
import type { ExecutionResult } from "./execution.js";
import { Reconnector } from "./reconnector.js";
import { bodyOf, EXEC_OPTIONS, type ExecOptions, START_OPTIONS, type StartOptions } from "./run-options.js";
import { cancelled, SandboxError } from "./sandbox-error.js";

const ALL = "/v1/sessions/{sessionId}/processes";
const ONE = "/v1/sessions/{sessionId}/processes/{id}";
export type ProcessRequest = Input<typeof ALL, "post">["json"];

export type ProcessInfo = Answer<typeof ALL, "post">;
export type ProcessLogs = Answer<`${typeof ONE}/logs`, "get">;
export type ProcessSignal = Input<`${typeof ONE}/signal`, "post">["json"]["signal"];
export type LogQuery = NonNullable<Input<`${typeof ONE}/logs`, "get">["query"]>;

/** What a process prints, as it happens. The last event is the exit. */
export type ProcessEvent =
  | { readonly type: "stdout" | "stderr"; readonly text: string }
  /** So many bytes are no longer kept. */
  | { readonly type: "dropped"; readonly bytes: number }
  | { readonly type: "exit"; readonly result: ExecutionResult };

/** What goes on in a session without a request. */
export class SessionProcesses {
  readonly #routes: SessionRoutes;

  /** @internal */
  constructor(routes: SessionRoutes) {
    this.#routes = routes;
  }

  /** Starts a command: a list without a shell, a text by one. Resolves when it has started. */
  async exec(command: string | readonly string[], options: ExecOptions = {}): Promise<RemoteProcess> {
    return this.#start(commandOf(command), checkOptions(options, EXEC_OPTIONS));
  }

  /** Starts a program given as text. */
  async runCode(code: string, options: StartOptions & { readonly language: string }): Promise<RemoteProcess> {
    const { language } = checkOptions<StartOptions>(options ?? {}, START_OPTIONS);
    checkLanguage(language);
    return this.#start(codeOf(code, 'processes.runCode("print(1)", { language: "python" })'), options);
  }

  /** The oldest first, also the last that have ended. */
  async list(options: CallOptions = {}): Promise<readonly ProcessInfo[]> {
    checkOptions(options, SIGNAL);
    return (await this.#routes.call("get", ALL, {}, options)).items;
  }

  /** One by its id, without asking whether it is there. */
  get(id: string): RemoteProcess {
    return new RemoteProcess(this.#routes, id);
  }

  /** The signal kills it, also when it runs. */
  async #start(what: object, { signal, ...rest }: StartOptions): Promise<RemoteProcess> {
    const json = { ...what, ...bodyOf(rest) };
    const process = this.get((await this.#routes.call("post", ALL, { json }, { signal })).id);
    const kill = () => void process.signal("SIGKILL").catch(() => undefined);
    if (signal?.aborted === true) kill();
    else signal?.addEventListener("abort", kill, { once: true });
    return process;
  }
}

/** A process that goes on without a connection. */
export class RemoteProcess {
  readonly id: string;
  readonly #routes: ItemRoutes;

  /** @internal */
  constructor(routes: SessionRoutes, id: string) {
    this.id = id;
    this.#routes = routes.of({ id });
  }

  async info(options: CallOptions = {}): Promise<ProcessInfo> {
    checkOptions(options, SIGNAL);
    return this.#routes.call("get", ONE, {}, options);
  }

  /** One page of what it printed, from a cursor on. */
  async logs(options: CallOptions & LogQuery = {}): Promise<ProcessLogs> {
    const { signal, ...query } = checkOptions(options, {
      ...SIGNAL,
      cursor: true,
      limit: true,
      waitMs: true,
    });
    return this.#routes.call("get", `${ONE}/logs`, { query }, { signal });
  }

  /** What it printed and prints, until it ends; goes on by itself where a connection was lost. */
  async *follow(options: CallOptions & { readonly cursor?: string } = {}): AsyncGenerator<ProcessEvent> {
    const { signal, cursor } = checkOptions(options, { ...SIGNAL, cursor: true });
    const { transport } = this.#routes;
    const path = this.#routes.at(`${ONE}/logs`);
    let last = cursor;
    const reconnector = new Reconnector(transport.settings.retries, signal ?? transport.ended);
    for (;;) {
      const headers = {
        accept: "text/event-stream",
        ...(last !== undefined && { "last-event-id": last }),
      };
      const response = await transport.request("GET", path, { headers, signal });
      let cause: unknown;
      try {
        for await (const { event, id, data } of readEvents(response)) {
          last = id ?? last;
          const told = eventOf(event, data);
          if (told === undefined) continue;
          yield told;
          if (told.type === "exit") return;
        }
      } catch (error) {
        if (transport.ended.aborted) throw transport.ended.reason;
        if (signal?.aborted === true) throw cancelled(error);
        if (error instanceof SandboxError) throw error;
        cause = error;
      }
      await reconnector.note(connectionLost(cause));
    }
  }

  /** Its result, once it has ended; `follow` has its output. */
  async wait(options: CallOptions = {}): Promise<ExecutionResult> {
    checkOptions(options, SIGNAL);
    for await (const event of this.follow(options)) if (event.type === "exit") return event.result;
    throw connectionLost();
  }

  /** To it and everything in its group. CONFLICT: it has ended. */
  async signal(signal: ProcessSignal, options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    await this.#routes.call("post", `${ONE}/signal`, { json: { signal } }, options);
  }

  /** Kills it, and forgets it and what it printed. */
  async delete(options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    await this.#routes.call("delete", ONE, {}, options);
  }
}

/** Undefined: an event that a later server may know. */
function eventOf(type: string, data: unknown): ProcessEvent | undefined {
  switch (type) {
    case "stdout":
    case "stderr":
    case "dropped":
      return { type, ...(data as object) } as ProcessEvent;
    case "exit": {
      const { result, code = "INTERNAL", error = "The process was lost" } = data as ProcessInfo;
      // Without one it was lost, with its sandbox for example.
      if (result === undefined) throw new SandboxError(code, error);
      return { type, result };
    }
    default:
      return undefined;
  }
}
