import type { Answer, CallOptions, Input, ItemRoutes, SessionRoutes } from "./api.js";
import { connectionLost, readEvents } from "./events.js";
import { Reconnector } from "./reconnector.js";

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
  | { readonly type: "exit"; readonly process: ProcessInfo };

export interface StartOptions extends CallOptions, Omit<ProcessRequest, "code" | "command" | "argv"> {}

/** What goes on in a session without a request. */
export class SessionProcesses {
  readonly #routes: SessionRoutes;

  /** @internal */
  constructor(routes: SessionRoutes) {
    this.#routes = routes;
  }

  /** Starts a command: a list without a shell, a text by one. Resolves when it has started. */
  exec(command: string | readonly string[], options: StartOptions = {}): Promise<RemoteProcess> {
    return this.#start(typeof command === "string" ? { command } : { argv: [...command] }, options);
  }

  /** Starts a program given as text. */
  runCode(code: string, options: StartOptions & { readonly language: string }): Promise<RemoteProcess> {
    return this.#start({ code }, options);
  }

  /** The oldest first, also the last that have ended. */
  async list(options: CallOptions = {}): Promise<readonly ProcessInfo[]> {
    return (await this.#routes.call("get", ALL, {}, options)).items;
  }

  /** One by its id, without asking whether it is there. */
  get(id: string): RemoteProcess {
    return new RemoteProcess(this.#routes, id);
  }

  async #start(what: object, { signal, ...rest }: StartOptions): Promise<RemoteProcess> {
    const json = { ...what, ...rest };
    return this.get((await this.#routes.call("post", ALL, { json }, { signal })).id);
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

  info(options: CallOptions = {}): Promise<ProcessInfo> {
    return this.#routes.call("get", ONE, {}, options);
  }

  /** One page of what it printed, from a cursor on. */
  logs({ signal, ...query }: CallOptions & LogQuery = {}): Promise<ProcessLogs> {
    return this.#routes.call("get", `${ONE}/logs`, { query }, { signal });
  }

  /** What it printed and prints, until it ends; goes on by itself where a connection was lost. */
  async *follow({
    signal,
    cursor,
  }: CallOptions & { readonly cursor?: string } = {}): AsyncGenerator<ProcessEvent> {
    const path = this.#routes.at(`${ONE}/logs`);
    let last = cursor;
    const reconnector = new Reconnector(this.#routes.transport.settings.retries, signal);
    for (;;) {
      const headers = {
        accept: "text/event-stream",
        ...(last !== undefined && { "last-event-id": last }),
      };
      const response = await this.#routes.transport.request("GET", path, { headers, signal });
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
        cause = error;
      }
      await reconnector.note(connectionLost(cause));
    }
  }

  /** Resolves when it has ended. */
  async wait(options: CallOptions = {}): Promise<ProcessInfo> {
    for await (const event of this.follow(options)) if (event.type === "exit") return event.process;
    throw connectionLost();
  }

  /** To it and everything in its group. CONFLICT: it has ended. */
  signal(signal: ProcessSignal, options: CallOptions = {}): Promise<ProcessInfo> {
    return this.#routes.call("post", `${ONE}/signal`, { json: { signal } }, options);
  }

  /** Kills it, and forgets it and what it printed. */
  async delete(options: CallOptions = {}): Promise<void> {
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
    case "exit":
      return { type, process: data as ProcessInfo };
    default:
      return undefined;
  }
}
