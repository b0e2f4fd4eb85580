import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CancelledNotificationSchema, ErrorCode, isJSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ToolCaller } from "../../core/tools/index.js";
import { describeSandbox } from "../../core/tools/index.js";
import { SandboxError } from "../../kit/errors.js";
import { createMcpServer, type McpConnection } from "../../mcp/index.js";
import { RetryLater } from "../http/index.js";
import type { Services } from "../services.js";
import type { ApiKeyRecord, SessionRecord } from "../store/index.js";
import { createClientCalls } from "./client-calls.js";
import { newClientId } from "./client-id.js";
import { EventLog } from "./event-log.js";
import type { EventMemory } from "./event-memory.js";
import type { KeyCalls } from "./key-calls.js";
import { OpenRequests } from "./open-requests.js";
import { checkAnswer, sendAnswer, toWebRequest } from "./web-exchange.js";

export interface McpClientOptions {
  readonly services: Services;
  /** Whose it is: with another one it cannot be found. */
  readonly key: ApiKeyRecord;
  readonly session: SessionRecord;
  /** The session was made for this client, and goes with it. */
  readonly isOwn: boolean;
  readonly caller: ToolCaller;
  readonly memory: EventMemory;
  readonly calls: KeyCalls;
  readonly version: string;
  readonly onError: (error: Error) => void;
}

/** Streams of a client at once: its general one, and those that it resumed. */
const MAX_STREAMS = 32;

/** One client that has connected, over as many requests as it makes. */
export class McpClient {
  readonly id: string;
  readonly key: ApiKeyRecord;
  readonly session: SessionRecord;
  readonly isOwn: boolean;
  readonly events: EventLog;
  readonly #connection: McpConnection;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #requests = new OpenRequests();
  #exchanges = 0;
  #streams = 0;
  #calls = 0;
  #heardAt = performance.now();

  constructor(options: McpClientOptions) {
    const { key, session, isOwn, memory, version, onError } = options;
    this.id = newClientId(options.services.lease.server);
    this.key = key;
    this.session = session;
    this.isOwn = isOwn;
    this.events = new EventLog({ memory, onAnswer: (id) => this.#requests.settle(id) });
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => this.id,
      eventStore: this.events,
    });
    const { tools, files } = createClientCalls({ ...options, connection: () => this.#connection });
    this.#connection = createMcpServer({
      tools: { ...tools, call: (...given) => this.#counted(tools.call(...given)) },
      files,
      facts: describeSandbox(options.services.manager.facts),
      version,
      onError,
    });
  }

  async connect(): Promise<void> {
    await this.#connection.connect(this.#transport as Transport);
  }

  /** How long the client has had no connection and no running call. */
  get idleMs(): number {
    return this.#exchanges + this.#calls > 0 ? 0 : performance.now() - this.#heardAt;
  }

  /** Answers a request; resolves when that is over, which may be long after. */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.#exchanges++;
    try {
      if (request.method === "GET") await this.#stream(request, reply);
      else await this.#messages(request, reply);
    } finally {
      this.#exchanges--;
      this.#heardAt = performance.now();
    }
  }

  /** Ends what runs and every stream; resolves when nothing does any more. */
  async close(): Promise<void> {
    await this.#connection.close();
    this.events.close();
  }

  async #messages(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const parsedBody = request.body;
    const messages: unknown[] = Array.isArray(parsedBody) ? parsedBody : [parsedBody];
    const ids = messages.filter(isJSONRPCRequest).map(({ id }) => id);
    // Two requests with one id could not be told apart by their answers.
    if (new Set(ids).size < ids.length || ids.some((id) => this.#requests.has(id))) throw idInUse();
    this.#requests.add(ids);
    const response = await this.#transport.handleRequest(toWebRequest(request), { parsedBody });
    if (!response.ok) for (const id of ids) this.#requests.settle(id);
    for (const message of messages) this.#noteCancelled(message);
    await checkAnswer(response);
    await sendAnswer(reply, response);
  }

  async #stream(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const lastEventId = request.headers["last-event-id"];
    if (this.#streams >= MAX_STREAMS) throw tooManyStreams();
    this.#streams++;
    try {
      if (typeof lastEventId === "string" && this.#replayed(lastEventId, reply)) return;
      const response = await this.#transport.handleRequest(toWebRequest(request));
      await checkAnswer(response);
      await sendAnswer(reply, response);
    } finally {
      this.#streams--;
    }
  }

  /** Tells the rest of a stream that is over. False: there will be more, which the transport has to tell. */
  #replayed(lastEventId: string, reply: FastifyReply): boolean {
    const rest = this.events.after(lastEventId);
    if (rest === undefined) throw noSuchEvent();
    if (!rest.isOver) return false;
    // To a client that has all of it, this says to come back no more.
    if (rest.events.length === 0) {
      void reply.code(204).send();
      return true;
    }
    const text = rest.events
      .map(({ id, message }) => `event: message\nid: ${id}\ndata: ${JSON.stringify(message)}\n\n`)
      .join("");
    void reply.header("content-type", "text/event-stream").header("mcp-session-id", this.id).send(text);
    return true;
  }

  /**
   * What is cancelled is never answered, as the protocol wants it, and the transport would keep its stream open for that. So we
   * end it, unless others are to be answered there: then it is an error.
   */
  #noteCancelled(message: unknown): void {
    const parsed = CancelledNotificationSchema.safeParse(message);
    const id = parsed.data?.params.requestId;
    // The SDK does not cancel what is numbered 0.
    if (!id || !this.#requests.has(id)) return;
    if (this.#requests.isLast(id)) {
      this.events.forgetAnswer(id);
      this.#transport.closeSSEStream(id);
    }
    const error = { code: ErrorCode.InvalidRequest, message: "It was cancelled" };
    // A stream without events has no receiver, which is fine.
    this.#transport.send({ jsonrpc: "2.0", id, error }).catch(() => undefined);
  }

  async #counted<T>(call: Promise<T>): Promise<T> {
    this.#calls++;
    try {
      return await call;
    } finally {
      this.#calls--;
      this.#heardAt = performance.now();
    }
  }
}

function tooManyStreams(): SandboxError {
  return new RetryLater(
    "RATE_LIMITED",
    `This client waits on ${MAX_STREAMS} streams, which is the limit`,
    1,
    "Close some of them.",
  );
}

function idInUse(): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", "There is an unanswered request with that id", {
    hint: "Give each request an id of its own.",
  });
}

function noSuchEvent(): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", "That event is unknown, or no longer kept", {
    hint: "Ask again for what you miss.",
  });
}
