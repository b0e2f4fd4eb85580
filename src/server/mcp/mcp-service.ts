import { randomBytes } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { isOver, RETRY_AFTER_SECONDS, RetryLater, roleFor, serverStopping } from "../http/index.js";
import type { Services } from "../services.js";
import { callerIdentity } from "../sessions/index.js";
import type { ApiKeyRecord, SessionRecord } from "../store/index.js";
import type { ChosenSession } from "./chosen-session.js";
import { EventMemory } from "./event-memory.js";
import { KeyCalls } from "./key-calls.js";
import { McpClient } from "./mcp-client.js";

export interface McpServiceOptions {
  readonly services: Services;
  readonly version: string;
  /** For the log: mistakes of ours. */
  readonly onError: (error: unknown) => void;
}

const LOOK_MS = 5000;
/** How long a client's own session outlives a killed server, and how often it is renewed until then. */
const OWN_TTL_MS = 60_000;
const RENEW_MS = 15_000;
const MAX_NAME_CHARACTERS = 100;

/** The connected MCP clients: found by id and key, limited in number, and ended when they are idle. */
export class McpService {
  readonly #clients = new Map<string, McpClient>();
  /** How many each key has, those that are just being made included. */
  readonly #counts = new Map<string, number>();
  readonly #closing = new Set<Promise<void>>();
  readonly #memory = new EventMemory();
  readonly #calls: KeyCalls;
  readonly #timer: NodeJS.Timeout;
  #renewedAt = performance.now();
  #looking: Promise<void> | undefined;
  #isClosed = false;

  constructor(private readonly options: McpServiceOptions) {
    this.#calls = new KeyCalls(options.services.config.server.limits.concurrency);
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look()
        .catch(options.onError)
        .finally(() => {
          this.#looking = undefined;
        });
    }, LOOK_MS).unref();
  }

  /** Opens a client for an `initialize` request. RATE_LIMITED: its key has too many clients, and none is idle. */
  async open(request: FastifyRequest, chosen: ChosenSession, clientName: string): Promise<McpClient> {
    const { key } = request;
    this.#makeRoom(key.id);
    this.#counts.set(key.id, (this.#counts.get(key.id) ?? 0) + 1);
    try {
      return await this.#open(request, chosen, clientName);
    } catch (error) {
      this.#uncount(key.id);
      throw error;
    }
  }

  /** NOT_FOUND: there is no such client, its session has ended, or it is another key's. */
  async find(key: ApiKeyRecord, id: string): Promise<McpClient> {
    const client = this.#clients.get(id);
    if (client === undefined || client.key.id !== key.id) throw notFound();
    const session = await this.options.services.sessions
      .find(key.org, client.session.name)
      .catch((error: unknown) => {
        if (toSandboxError(error).code !== "SESSION_NOT_FOUND") throw error;
      });
    if (session?.id === client.session.id) return client;
    void this.end(client);
    throw notFound();
  }

  /** Ends a client; resolves when nothing of it is left. Never rejects. */
  async end(client: McpClient): Promise<void> {
    // A second call does not wait for the first.
    if (!this.#clients.delete(client.id)) return;
    this.#uncount(client.key.id);
    const ended = this.#clean(client).catch(this.options.onError);
    this.#closing.add(ended);
    await ended;
    this.#closing.delete(ended);
  }

  /** Ends all clients, and takes no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#looking;
    for (const client of this.#clients.values()) void this.end(client);
    await Promise.all(this.#closing);
  }

  async #open(request: FastifyRequest, chosen: ChosenSession, clientName: string): Promise<McpClient> {
    const { services, version, onError } = this.options;
    const { key } = request;
    const isOwn = chosen.session === undefined;
    const session = await this.#session(key, chosen);
    try {
      const agentId = `key:${key.id}${saidName(clientName)}`;
      const { requestId: _, ...caller } = callerIdentity(services, request, session, {
        role: chosen.role,
        agentId,
      });
      const client = new McpClient({
        services,
        key,
        session,
        isOwn,
        caller,
        version,
        // Errors in a client's messages go to the client, and contain its text.
        onError: (error) => {
          if (error instanceof SandboxError) onError(error);
        },
        memory: this.#memory,
        calls: this.#calls,
      });
      await client.connect();
      if (this.#isClosed) throw serverStopping();
      this.#clients.set(client.id, client);
      return client;
    } catch (error) {
      if (isOwn) await services.sessions.end(session.org, session.name, "failed");
      throw error;
    }
  }

  /** Many clients never disconnect: the one that has been idle for longest is ended. */
  #makeRoom(key: string): void {
    const { sessionsPerKey } = this.options.services.config.server.mcp;
    if ((this.#counts.get(key) ?? 0) < sessionsPerKey) return;
    let longest: McpClient | undefined;
    for (const client of this.#clients.values()) {
      if (client.key.id === key && client.idleMs > (longest?.idleMs ?? 0)) longest = client;
    }
    if (longest === undefined) throw tooMany(sessionsPerKey);
    void this.end(longest);
  }

  async #session(key: ApiKeyRecord, { session, role }: ChosenSession): Promise<SessionRecord> {
    const { sessions, config } = this.options.services;
    const wanted = { role: roleFor(key, role, config.sandbox.policy.role), settings: {} };
    if (session !== undefined) return sessions.obtain(key.org, { ...wanted, name: session });
    const name = `mcp-${randomBytes(8).toString("hex")}`;
    return (await sessions.create(key.org, { ...wanted, name, ttlMs: OWN_TTL_MS })).session;
  }

  async #clean(client: McpClient): Promise<void> {
    await client.close();
    if (!client.isOwn) return;
    const { org, name } = client.session;
    await this.options.services.sessions.end(org, name).catch((error: unknown) => {
      // Another request has ended it.
      if (toSandboxError(error).code !== "SESSION_NOT_FOUND") throw error;
    });
  }

  /** Ends idle clients, and those whose key or session has ended. */
  async #look(): Promise<void> {
    const { services } = this.options;
    const clients = [...this.#clients.values()];
    const orgs = [...new Set(clients.map(({ key }) => key.org))];
    const lists = await Promise.all(orgs.map((org) => services.store.apiKeys.list(org)));
    const valid = new Set(lists.flat().flatMap((key) => (isOver(key) ? [] : [key.id])));
    for (const client of clients) {
      client.events.prune();
      const isGone =
        client.idleMs >= services.config.server.mcp.idleMs ||
        !valid.has(client.key.id) ||
        services.sessions.hasEnded(client.session.id);
      if (isGone) void this.end(client);
    }
    await this.#renewAll();
  }

  async #renewAll(): Promise<void> {
    const isTime = performance.now() - this.#renewedAt >= RENEW_MS;
    if (isTime) this.#renewedAt = performance.now();
    for (const { isOwn, session } of this.#clients.values()) {
      const renewed = isOwn ? isTime && this.#renew(session, OWN_TTL_MS) : this.#prolong(session);
      await Promise.resolve(renewed).catch(this.options.onError);
    }
  }

  /** Renews a named session by its own time to live before half of it has passed: a connected client uses it. */
  async #prolong({ org, name, id }: SessionRecord): Promise<void> {
    const session = await this.options.services.store.sessions.get(org, name);
    if (session?.id !== id || session.expiresAt === undefined) return;
    const lifeMs = session.expiresAt - session.renewedAt;
    if (session.expiresAt - Date.now() < lifeMs / 2) await this.#renew(session, lifeMs);
  }

  async #renew({ org, name }: SessionRecord, lifeMs: number): Promise<void> {
    await this.options.services.sessions.renew(org, name, lifeMs);
  }

  #uncount(key: string): void {
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left === 0) this.#counts.delete(key);
    else this.#counts.set(key, left);
  }
}

/** The name that a client gives itself, behind its key. */
function saidName(name: string): string {
  const shown = escapeUnsafe(name.slice(0, MAX_NAME_CHARACTERS)).slice(0, MAX_NAME_CHARACTERS);
  return shown === "" ? "" : ` (mcp: ${shown})`;
}

/** As the protocol has it: with this answer a client initializes again. */
function notFound(): SandboxError {
  return new SandboxError("NOT_FOUND", "There is no such MCP session", {
    hint: "It has ended, or is another key's. Initialize again, without the header Mcp-Session-Id.",
  });
}

function tooMany(most: number): SandboxError {
  return new RetryLater(
    "RATE_LIMITED",
    `This key has ${most} MCP clients, which is the limit`,
    RETRY_AFTER_SECONDS,
    "End some of them (DELETE /mcp), or raise server.mcp.sessionsPerKey.",
  );
}
