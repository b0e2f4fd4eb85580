import { type Answer, type CallOptions, type Input, Routes } from "./api.js";
import { invalid } from "./check-arguments.js";
import { checkOptions, type OptionNames, SIGNAL } from "./check-options.js";
import { type ClientOptions, checkClientOptions } from "./client-options.js";
import { connectionLost } from "./events.js";
import { allOf } from "./pages.js";
import { Reconnector } from "./reconnector.js";
import { SandboxError } from "./sandbox-error.js";
import { Session, type SessionInfo } from "./session.js";
import { Socket } from "./socket.js";
import { Transport } from "./transport.js";

export type NewSession = NonNullable<Input<"/v1/sessions", "post">["json"]>;
type Filter<P extends "/v1/sessions" | "/v1/executions" | "/v1/audit"> =
  Input<P, "get"> extends { query?: infer Query } ? Omit<NonNullable<Query>, "limit" | "cursor"> : never;
export type ExecutionInfo = Answer<"/v1/executions/{id}", "get">;
export type AuditRecord = Answer<"/v1/audit", "get">["items"][number];
export type Approval = Answer<"/v1/approvals", "get">["items"][number];
export type DecisionInput = Input<"/v1/approvals/{id}/decide", "post">["json"];
export type ApprovalEvent =
  | { readonly type: "pending"; readonly approvals: readonly Approval[] }
  | { readonly type: "requested"; readonly approval: Approval }
  | { readonly type: "decided"; readonly id: string; readonly outcome: NonNullable<Approval["outcome"]> };
export type Decided = Answer<"/v1/approvals/{id}/decide", "post">;

const NEW_SESSION: OptionNames<CallOptions & NewSession> = {
  ...SIGNAL,
  sessionId: true,
  role: true,
  backend: true,
  ttlMs: true,
  idempotencyKey: true,
};
const PAGE = 1000;
const CONFLICT_STATUS = 409;

/** A server of ours, over HTTP. Works in Node.js and in browsers. */
export class SkerryClient {
  readonly sessions: SessionsClient;
  readonly executions: ExecutionsClient;
  readonly approvals: ApprovalsClient;
  readonly #routes: Routes<object>;

  constructor(options: ClientOptions) {
    this.#routes = new Routes(new Transport(checkClientOptions(options)), {});
    this.sessions = new SessionsClient(this.#routes);
    this.executions = new ExecutionsClient(this.#routes);
    this.approvals = new ApprovalsClient(this.#routes);
  }

  /** What the org's callers did, the latest first. */
  audit({ signal, ...query }: CallOptions & Filter<"/v1/audit"> = {}): AsyncGenerator<AuditRecord> {
    return allOf((cursor) =>
      this.#routes.call("get", "/v1/audit", { query: { ...query, ...cursor, limit: PAGE } }, { signal }),
    );
  }

  /** The run-time checklist. Takes a key with the scope admin. */
  async status(options: CallOptions = {}): Promise<Answer<"/v1/status", "get">> {
    checkOptions(options, SIGNAL);
    return this.#routes.call("get", "/v1/status", {}, options);
  }

  /** The sandboxes that are kept ready. Takes a key with the scope admin. */
  async pool(options: CallOptions = {}): Promise<Answer<"/v1/pool", "get">> {
    checkOptions(options, SIGNAL);
    return this.#routes.call("get", "/v1/pool", {}, options);
  }

  /** Prometheus' text. Takes a key with the scope admin. */
  async metrics(options: CallOptions = {}): Promise<string> {
    checkOptions(options, SIGNAL);
    return (await this.#routes.transport.request("GET", "/metrics", options)).text();
  }

  /** Resolves when the server takes work. */
  async ready(options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    await this.#routes.call("get", "/readyz", {}, options);
  }
}

/** An org's sessions. */
export class SessionsClient {
  readonly #routes: Routes<object>;

  /** @internal */
  constructor(routes: Routes<object>) {
    this.#routes = routes;
  }

  /** Makes one. With the same idempotency key it is made once; left out: a key of its own, so that it can be repeated. */
  async create(options: CallOptions & NewSession = {}): Promise<Session> {
    const { signal, ...wanted } = checkOptions(options, NEW_SESSION);
    const json = { idempotencyKey: crypto.randomUUID(), ...wanted };
    const made = await this.#routes.call("post", "/v1/sessions", { json }, { signal, isRepeatable: true });
    if (made.state === "ended") {
      throw new SandboxError("CONFLICT", "The session of that idempotency key has ended", {
        hint: "Use a new key for a new session.",
      });
    }
    return this.get(made.sessionId);
  }

  /** One by its name, without asking whether it is there: to run something in it makes it. */
  get(sessionId: string): Session {
    if (typeof sessionId !== "string" || sessionId === "")
      throw invalid("A session is opened by its id, as text", 'For example client.sessions.get("chat-42").');
    return new Session(this.#routes.transport, sessionId);
  }

  /** The latest first. */
  list({ signal, ...query }: CallOptions & Filter<"/v1/sessions"> = {}): AsyncGenerator<SessionInfo> {
    return allOf((cursor) =>
      this.#routes.call("get", "/v1/sessions", { query: { ...query, ...cursor, limit: PAGE } }, { signal }),
    );
  }
}

/** What ran. */
export class ExecutionsClient {
  readonly #routes: Routes<object>;

  /** @internal */
  constructor(routes: Routes<object>) {
    this.#routes = routes;
  }

  async get(id: string, options: CallOptions = {}): Promise<ExecutionInfo> {
    checkOptions(options, SIGNAL);
    return this.#routes.of({ id }).call("get", "/v1/executions/{id}", {}, options);
  }

  /** The latest first. */
  list({ signal, ...query }: CallOptions & Filter<"/v1/executions"> = {}): AsyncGenerator<ExecutionInfo> {
    return allOf((cursor) =>
      this.#routes.call("get", "/v1/executions", { query: { ...query, ...cursor, limit: PAGE } }, { signal }),
    );
  }
}

/** What waits for a person. Takes a key with the scope approve. */
export class ApprovalsClient {
  readonly #routes: Routes<object>;

  /** @internal */
  constructor(routes: Routes<object>) {
    this.#routes = routes;
  }

  /** The oldest first. */
  async list(options: CallOptions = {}): Promise<readonly Approval[]> {
    checkOptions(options, SIGNAL);
    return (await this.#routes.call("get", "/v1/approvals", {}, options)).items;
  }

  /**
   * Everything that is pending, then every change, until the signal aborts. Goes on by itself where a connection was lost, with
   * everything that is pending then.
   */
  async *watch(options: CallOptions = {}): AsyncGenerator<ApprovalEvent> {
    const { signal } = checkOptions(options, SIGNAL);
    const reconnector = new Reconnector(this.#routes.transport.settings.retries, signal);
    const isOver = () => signal?.aborted === true;
    while (!isOver()) {
      const socket = await reconnector.open(() =>
        Socket.open(this.#routes.transport, "/v1/approvals/stream"),
      );
      const leave = () => socket.close();
      signal?.addEventListener("abort", leave, { once: true });
      try {
        for (let data = await socket.next(); data !== undefined; data = await socket.next()) {
          if (typeof data === "string") yield JSON.parse(data) as ApprovalEvent;
        }
      } finally {
        signal?.removeEventListener("abort", leave);
        socket.close();
      }
      if (isOver()) return;
      await reconnector.note(connectionLost());
    }
  }

  /** The first decision counts: `accepted` says whether this was it. */
  async decide(id: string, json: DecisionInput, options: CallOptions = {}): Promise<Decided> {
    checkOptions(options, SIGNAL);
    const taken = { ...options, alsoTaken: [CONFLICT_STATUS] };
    return this.#routes.of({ id }).call("post", "/v1/approvals/{id}/decide", { json }, taken);
  }
}
