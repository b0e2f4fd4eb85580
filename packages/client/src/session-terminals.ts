import type { Answer, CallOptions, Input, ItemRoutes, SessionRoutes } from "./api.js";
import { checkSize, invalid } from "./check-arguments.js";
import { checkOptions, type OptionNames, SIGNAL } from "./check-options.js";
import { connectionLost } from "./events.js";
import type { ExecutionResult } from "./execution.js";
import { Reconnector } from "./reconnector.js";
import { SandboxError } from "./sandbox-error.js";
import { Socket } from "./socket.js";
import type { Transport } from "./transport.js";

const ALL = "/v1/sessions/{sessionId}/terminals";
const ONE = "/v1/sessions/{sessionId}/terminals/{id}";
const DONE = 1000;
const REVOKED = 1008;

export type TerminalInfo = Answer<typeof ALL, "post">;
export type NewTerminal = Input<typeof ALL, "post">["json"];

const TERMINAL_OPTIONS: OptionNames<CallOptions & NewTerminal> = {
  ...SIGNAL,
  rows: true,
  columns: true,
  argv: true,
  env: true,
  cwd: true,
  role: true,
  agentId: true,
};

/** Terminals of a session, which outlive their connections. */
export class SessionTerminals {
  readonly #routes: SessionRoutes;

  /** @internal */
  constructor(routes: SessionRoutes) {
    this.#routes = routes;
  }

  /** Opens one. Connect to it to see it and to type. */
  async open(options: CallOptions & NewTerminal): Promise<RemoteTerminal> {
    const { signal, ...json } = checkOptions<CallOptions & NewTerminal>(options ?? {}, TERMINAL_OPTIONS);
    checkSize(json.rows, json.columns);
    return this.get((await this.#routes.call("post", ALL, { json }, { signal })).id);
  }

  /** The oldest first, also the last that have ended. */
  async list(options: CallOptions = {}): Promise<readonly TerminalInfo[]> {
    checkOptions(options, SIGNAL);
    return (await this.#routes.call("get", ALL, {}, options)).items;
  }

  /** One by its id, without asking whether it is there. */
  get(id: string): RemoteTerminal {
    return new RemoteTerminal(this.#routes, id);
  }
}

/** A terminal that goes on without a connection. */
export class RemoteTerminal {
  readonly id: string;
  readonly #routes: ItemRoutes;

  /** @internal */
  constructor(routes: SessionRoutes, id: string) {
    this.id = id;
    this.#routes = routes.of({ id });
  }

  async info(options: CallOptions = {}): Promise<TerminalInfo> {
    checkOptions(options, SIGNAL);
    return this.#routes.call("get", ONE, {}, options);
  }

  /** Sees what is on it from a position on; left out: everything that is kept. */
  async connect(options: { readonly cursor?: number } = {}): Promise<TerminalConnection> {
    const { cursor = 0 } = checkOptions(options, { cursor: true });
    const { transport } = this.#routes;
    const path = this.#routes.at(`${ONE}/stream`);
    const connect = (at: number) => Socket.open(transport, path, { cursor: at });
    return new TerminalConnection(await connect(cursor), connect, transport);
  }

  /** Ends it, and forgets it. */
  async delete(options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    await this.#routes.call("delete", ONE, {}, options);
  }
}

/** A seat at a terminal: iterate it for what is on the screen. One that is lost is taken again, where it was. */
export class TerminalConnection implements AsyncIterable<Uint8Array> {
  /** How much was seen: with that as `cursor` another connection goes on. */
  cursor = 0;
  /** Bytes that were gone before they could be seen. */
  dropped = 0;
  /** What came of it, once the loop over it has ended; undefined: it goes on without us. */
  result: ExecutionResult | undefined;
  #socket: Socket;
  readonly #connect: (cursor: number) => Promise<Socket>;
  readonly #transport: Transport;
  #isClosed = false;

  /** @internal */
  constructor(socket: Socket, connect: (cursor: number) => Promise<Socket>, transport: Transport) {
    this.#socket = socket;
    this.#connect = connect;
    this.#transport = transport;
  }

  /** Types. */
  write(data: string | Uint8Array): void {
    if (typeof data !== "string" && !(data instanceof Uint8Array))
      throw invalid("What is typed is text or bytes", 'For example write("ls\\r").');
    this.#socket.send(typeof data === "string" ? new TextEncoder().encode(data) : data);
  }

  resize(rows: number, columns: number): void {
    checkSize(rows, columns);
    this.#socket.send(JSON.stringify({ type: "resize", rows, columns }));
  }

  /** Leaves; the terminal goes on. */
  close(): void {
    this.#isClosed = true;
    this.#socket.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const reconnector = new Reconnector(this.#transport.settings.retries, this.#transport.ended);
    for (;;) {
      for (let data = await this.#socket.next(); data !== undefined; data = await this.#socket.next()) {
        if (typeof data === "string") this.#understand(data);
        else {
          this.cursor += data.length;
          yield data;
        }
      }
      this.#transport.assertOpen();
      const { code, reason } = this.#socket.end ?? { code: 0, reason: "" };
      if (this.#isClosed || this.result !== undefined || code === DONE) return;
      if (code === REVOKED) throw new SandboxError("UNAUTHENTICATED", `The server hung up: ${reason}`);
      await reconnector.note(connectionLost());
      this.#socket = await reconnector.open(() => this.#connect(this.cursor));
    }
  }

  #understand(text: string): void {
    const message = JSON.parse(text) as { readonly type: string } & Record<string, unknown>;
    if (message.type === "open") {
      this.cursor = Number(message["cursor"]);
      this.dropped += Number(message["dropped"]);
    } else if (message.type === "exit") this.result = message["result"] as ExecutionResult;
  }
}
