import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { FORWARDED_BY, ownerUnreachable } from "../cluster/index.js";
import { disconnectSignal } from "../http/index.js";
import { serverOfClientId } from "../mcp/index.js";
import type { SessionService, TaskRegistry } from "../sessions/index.js";
import type { ServerRecord, Store } from "../store/index.js";
import { forwardRequest } from "./forward-request.js";

export interface ForwarderOptions {
  readonly store: Store;
  /** This server's id. */
  readonly server: string;
  readonly sessions: Pick<SessionService, "isName" | "isOwn">;
  readonly tasks: TaskRegistry;
  /** The certificate authorities of the other servers; undefined: the system's. */
  readonly ca: Buffer | undefined;
}

/** Every route of one session. */
const OF_A_SESSION = "/v1/sessions/:sessionId";
/** An MCP client is known to the server that it connected to. */
const OF_A_CLIENT = "/mcp";
/** A server's log is on its host. */
const OF_A_LOG = "/v1/audit";

interface Underway {
  readonly owner: string;
  readonly controller: AbortController;
}

/**
 * Forwards requests for a session to the server that has it, where several servers share a PostgreSQL. The owner checks
 * the key again, decides, and answers; it trusts nothing because it came from a server.
 */
export class Forwarder {
  readonly #underway = new Set<Underway>();
  /** The first bytes after an upgrade request. */
  readonly #heads = new WeakMap<IncomingMessage, Buffer>();

  constructor(private readonly options: ForwarderOptions) {}

  /** Comes after the hooks that check key and scope. */
  addTo(app: FastifyInstance): void {
    if (this.options.store.kind !== "postgres") return;
    app.server.prependListener("upgrade", (raw: IncomingMessage, _: unknown, head: Buffer) =>
      this.#heads.set(raw, head),
    );
    app.addHook("onRequest", async (request, reply) => {
      // A forwarded request is never forwarded again: two servers that take each other for the owner would loop.
      if (reply.sent || request.headers[FORWARDED_BY] !== undefined) return;
      const owner = await this.#ownerOf(request);
      if (owner !== undefined) await this.#forward(request, reply, owner);
    });
    app.addHook("preClose", async () => this.cancelAll());
  }

  /** Cancels requests that were forwarded to dead servers: a host that is gone closes no connection. */
  async cancelDead(): Promise<void> {
    if (this.#underway.size === 0) return;
    const living = new Set((await this.options.store.servers.list()).map(({ id }) => id));
    for (const { owner, controller } of this.#underway) {
      if (!living.has(owner)) controller.abort(ownerUnreachable());
    }
  }

  /** Cancels all forwarded requests. */
  cancelAll(): void {
    for (const { controller } of this.#underway) controller.abort(ownerUnreachable());
  }

  /** The other server that owns what a request is about. Undefined: this server answers. */
  async #ownerOf(request: FastifyRequest): Promise<ServerRecord | undefined> {
    const { store, server, sessions } = this.options;
    const { key, query, headers, routeOptions } = request;
    if (routeOptions.url === OF_A_LOG) {
      const { server: named = server } = query as { readonly server?: unknown };
      return typeof named !== "string" || named === server ? undefined : store.servers.get(named);
    }
    const name = sessionIn(request);
    if (routeOptions.url === OF_A_CLIENT && headers["mcp-session-id"] !== undefined) {
      const knows = serverOfClientId(headers["mcp-session-id"]);
      return knows === undefined || knows === server ? undefined : store.servers.get(knows);
    }
    if (name === undefined || !sessions.isName(name) || sessions.isOwn(key.org, name)) return undefined;
    const owner = await store.servers.ownerOf(key.org, name);
    return owner === undefined || owner.server === server ? undefined : owner.record;
  }

  async #forward(request: FastifyRequest, reply: FastifyReply, owner: ServerRecord): Promise<void> {
    const { tasks, server, ca } = this.options;
    // The owner has started, and does not listen yet.
    if (owner.url === "") throw ownerUnreachable();
    const controller = new AbortController();
    const underway = { owner: owner.id, controller };
    const isUpgrade = request.headers.upgrade !== undefined;
    // A WebSocket may stay open for ever, so a stop does not wait for it.
    const isSubscription = request.routeOptions.config.subscription === true;
    const used = isUpgrade ? undefined : tasks.begin(undefined, disconnectSignal(reply), { isSubscription });
    const caller = used?.signal ?? disconnectSignal(reply);
    const head = this.#heads.get(request.raw);
    this.#underway.add(underway);
    request.log.debug({ owner: owner.id }, "forwarded");
    try {
      const signal = AbortSignal.any([caller, controller.signal]);
      await forwardRequest(request, reply, { url: owner.url, from: server, ca, head }, signal);
    } finally {
      this.#underway.delete(underway);
      used?.end();
    }
  }
}

/** The name of the session that a request is about. */
function sessionIn({ params, query, headers, routeOptions: { url } }: FastifyRequest): string | undefined {
  if (url?.startsWith(OF_A_SESSION) === true) return (params as { readonly sessionId: string }).sessionId;
  if (url !== OF_A_CLIENT) return undefined;
  const asked = headers["x-skerry-session"] ?? (query as { readonly session?: unknown }).session;
  return typeof asked === "string" ? asked : undefined;
}
