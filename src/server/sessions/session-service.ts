import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ServerSessionsConfig } from "../../core/config/index.js";
import type { SandboxManager } from "../../core/manager/index.js";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { KeyedMutex } from "../../kit/keyed-mutex.js";
import type { PoolManager } from "../../runtime/pool/index.js";
import { validateSessionKey } from "../../runtime/workspace/index.js";
import type { FencedLease } from "../cluster/index.js";
import { ownerUnreachable } from "../cluster/index.js";
import type { CreatedSession, EndReason, Json, SessionRecord, Store } from "../store/index.js";
import { Prewarmer } from "./prewarmer.js";
import type { SessionSettings } from "./session-settings.js";
import type { Task, TaskOptions, TaskRegistry } from "./task-registry.js";

/** A session to be created. */
export interface WantedSession {
  /** Left out: a random one. */
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  readonly settings: SessionSettings;
  /** Left out: the configuration's. Null: until it is deleted. */
  readonly ttlMs?: number | null | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** A session that is used until `end`. */
export interface UsedSession extends Task {
  readonly session: SessionRecord;
}

export interface SessionServiceOptions {
  readonly config: ServerSessionsConfig;
  readonly store: Store;
  readonly manager: SandboxManager;
  readonly tasks: TaskRegistry;
  readonly lease: FencedLease;
  /** Ends the sessions of servers that are dead. */
  readonly reapDead: () => Promise<void>;
  readonly pool?: PoolManager | undefined;
  readonly onFailure: (error: unknown, what: string) => void;
  /** Called when nothing runs in a session and its files are removed. */
  readonly onCleaned: (session: string) => void;
}

const PAGE = 1000;
/** How long a sweep waits for its removals: one org's session must not delay the end of the others. */
const PATIENCE_MS = 5000;
/** Longer than any request takes from resolving a session to using it. */
const REMEMBER_ENDED_MS = 10 * 60_000;

/**
 * Sessions by name. The manager knows each by the store's id, which is never used again: no name of one org means
 * anything to another, and a new session of the same name has none of the old files.
 */
export class SessionService {
  readonly #mutex = new KeyedMutex();
  /** Ids of sessions that ended here, and when. A request that resolved an id before its session ended must not recreate it. */
  readonly #ended = new Map<string, number>();
  readonly #cleaning = new Map<string, Promise<void>>();
  /** Names and ids of sessions that are known to be this server's. No other server can end them. */
  readonly #own = new Map<string, string>();
  /** Starts the sandboxes of sessions that were not used yet. */
  readonly prewarmer: Prewarmer;

  constructor(private readonly options: SessionServiceOptions) {
    const { manager, pool, tasks, config } = options;
    this.prewarmer = new Prewarmer({
      most: config.startAhead,
      manager,
      pool,
      begin: ({ id }) => (this.#ended.has(id) ? undefined : tasks.begin(id)),
    });
  }

  /** Makes one. CONFLICT: the name is in use, or the idempotency key came with another request before. */
  async create(org: string, wanted: WantedSession): Promise<CreatedSession> {
    const { config, store, lease } = this.options;
    const name = validateSessionKey(wanted.name ?? `session-${randomBytes(8).toString("hex")}`);
    const { role, settings, ttlMs = config.ttlMs, idempotencyKey } = wanted;
    const request = { name: wanted.name, role, ttlMs, settings: { ...settings } } as unknown as Json;
    const create = () =>
      store.sessions.create(org, {
        name,
        role,
        settings: { ...settings },
        lease: lease.token,
        ...(ttlMs !== null && { expiresAt: Date.now() + ttlMs }),
        ...(idempotencyKey !== undefined && { idempotency: { key: idempotencyKey, request } }),
      });
    // One at a time, so that the maximum holds.
    return this.#mutex.run(org, async () => {
      const isFull = (await this.#count(org)) >= config.maxPerOrg;
      // A repeated request is counted already; a refused one must not use up its idempotency key.
      const isKnown = async () =>
        idempotencyKey !== undefined && (await store.sessions.isIdempotencyKey(org, idempotencyKey));
      if (isFull && !(await isKnown())) throw tooMany(config.maxPerOrg);
      const created = await create().catch(async (error: unknown) => {
        // An expired session has its name until it is swept.
        if (toSandboxError(error).code !== "CONFLICT" || !(await this.#expire())) throw error;
        return create();
      });
      this.#remember(created.session);
      return created;
    });
  }

  /** The active session of that name. SESSION_NOT_FOUND: there is none, or it is another org's. */
  async find(org: string, name: string): Promise<SessionRecord> {
    const found = await this.options.store.sessions.get(org, validateSessionKey(name));
    if (found === undefined) throw await this.#missing(org, name);
    if (isOver(found)) throw notFound(name);
    return this.#claim(found);
  }

  /** True: it is a valid session name. */
  isName(name: string): boolean {
    try {
      return validateSessionKey(name) === name;
    } catch {
      return false;
    }
  }

  /** True: the session of that name is known to be this server's, without asking the store. */
  isOwn(org: string, name: string): boolean {
    return this.#own.has(keyOf({ org, name }));
  }

  /** Finds a session, or creates it; but not under the name of one that was lost with its server: its client must be told. */
  async obtain(org: string, wanted: WantedSession & { readonly name: string }): Promise<SessionRecord> {
    const found = await this.options.store.sessions.get(org, validateSessionKey(wanted.name));
    if (found !== undefined && !isOver(found)) return this.#claim(found);
    const last = found ?? (await this.options.store.sessions.getLast(org, wanted.name));
    if (last?.endedWhy === "server-lost") throw lostWithServer(wanted.name);
    try {
      return (await this.create(org, wanted)).session;
    } catch (error) {
      if (toSandboxError(error).code !== "CONFLICT") throw error;
      const made = await this.options.store.sessions.get(org, wanted.name);
      if (made === undefined || isOver(made)) throw error;
      // Another request created it meanwhile.
      return this.#claim(made);
    }
  }

  /** Uses a session until `end`; a session that ends waits for that, and aborts the signal. */
  use(session: SessionRecord, signal?: AbortSignal, options?: TaskOptions): UsedSession {
    this.options.lease.assertHeld();
    if (this.#ended.has(session.id)) throw notFound(session.name);
    this.prewarmer.used(session.id);
    return { session, ...this.options.tasks.begin(session.id, signal, options) };
  }

  /** True of a session that ended here recently. */
  hasEnded(id: string): boolean {
    return this.#ended.has(id);
  }

  /** SESSION_NOT_FOUND as for `find`. */
  async renew(org: string, name: string, ttlMs: number | null | undefined): Promise<SessionRecord> {
    const { store, config } = this.options;
    const { id } = await this.find(org, name);
    const lifeMs = ttlMs === undefined ? config.ttlMs : ttlMs;
    const renewed = await store.sessions.renew(
      org,
      name,
      lifeMs === null ? undefined : Date.now() + lifeMs,
      id,
    );
    if (renewed === undefined) throw notFound(name);
    return renewed;
  }

  /** Ends a session; resolves when its files are gone. SESSION_NOT_FOUND as for `find`. */
  async end(org: string, name: string, why: EndReason = "deleted"): Promise<void> {
    // By id from here on: another server may reuse the name.
    const { id } = await this.find(org, name);
    const ended = await this.options.store.sessions.end(org, name, why, id);
    if (ended === undefined) throw notFound(name);
    await this.#finish(ended);
  }

  /** Ends expired sessions, and removes what is left of ended ones. A session that takes long continues in the background. */
  async sweep(): Promise<void> {
    const { store, lease } = this.options;
    await this.#expire();
    for (const [id, at] of this.#ended) if (Date.now() - at > REMEMBER_ENDED_MS) this.#ended.delete(id);
    const left = await store.sessions.listUncleaned(lease.server);
    const patience = new AbortController();
    const all = Promise.all(left.map((session) => this.#finishLater(session)));
    await Promise.race([all, delay(PATIENCE_MS, undefined, { signal: patience.signal, ref: false })]);
    patience.abort();
  }

  /** Ends what has expired; true: something has. */
  async #expire(): Promise<boolean> {
    const { store, lease } = this.options;
    const expired = await store.sessions.takeExpired(Date.now(), lease.server);
    for (const session of expired) void this.#finishLater(session);
    return expired.length > 0;
  }

  /** Never rejects: the next sweep tries again. */
  #finishLater(session: SessionRecord): Promise<void> {
    return this.#finish(session).catch((error: unknown) =>
      this.options.onFailure(error, "a session's files could not be removed"),
    );
  }

  /** Removes the sandbox and the files of an ended session. Concurrent calls wait for the same removal. */
  async #finish(session: SessionRecord | undefined): Promise<void> {
    if (session === undefined) return;
    const { id } = session;
    this.#ended.set(id, Date.now());
    this.prewarmer.ended(id);
    if (this.#own.get(keyOf(session)) === id) this.#own.delete(keyOf(session));
    const cleaning = this.#cleaning.get(id) ?? this.#clean(session).finally(() => this.#cleaning.delete(id));
    this.#cleaning.set(id, cleaning);
    await cleaning;
  }

  async #clean({ org, id }: SessionRecord): Promise<void> {
    const { manager, store, tasks, onCleaned } = this.options;
    await tasks.abortSession(id);
    await manager.deleteSession(id);
    onCleaned(id);
    await store.snapshots.removeAllOf(org, id);
    await store.sessions.markCleaned([id]);
  }

  /** Makes a session this server's, if it has no server yet. SESSION_ELSEWHERE: another server has it. */
  async #claim(session: SessionRecord): Promise<SessionRecord> {
    const { store, lease, reapDead } = this.options;
    const { org, name } = session;
    if (session.server === lease.server) return this.#remember(session);
    const claim = await store.servers.claim(lease.token, org, name);
    if (claim === undefined) throw await this.#missing(org, name);
    if (claim.claimed) return this.#remember(claim.session);
    if (claim.owner !== undefined) {
      throw new SandboxError("SESSION_ELSEWHERE", "Another server has this session", {
        hint: `Ask ${claim.owner.url}.`,
      });
    }
    await reapDead();
    const { state } = (await store.sessions.getById(org, session.id)) ?? {};
    throw state === "active" ? ownerUnreachable() : await this.#missing(org, name);
  }

  #remember(session: SessionRecord): SessionRecord {
    if (session.server === this.options.lease.server && session.state === "active")
      this.#own.set(keyOf(session), session.id);
    return session;
  }

  /** The error for a name that no active session has. */
  async #missing(org: string, name: string): Promise<SandboxError> {
    const last = await this.options.store.sessions.getLast(org, name);
    return last?.endedWhy === "server-lost" ? lostWithServer(name) : notFound(name);
  }

  async #count(org: string): Promise<number> {
    const { store, config } = this.options;
    let count = 0;
    for (let cursor: string | undefined; count < config.maxPerOrg; ) {
      const page = await store.sessions.list(org, { state: "active", limit: PAGE, cursor });
      count += page.items.length;
      if (page.next === undefined) break;
      cursor = page.next;
    }
    return count;
  }
}

/** It has expired, and is not swept yet. */
function isOver({ expiresAt }: SessionRecord): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now();
}

function notFound(name: string): SandboxError {
  return new SandboxError("SESSION_NOT_FOUND", `There is no session ${JSON.stringify(name)}`, {
    hint: "GET /v1/sessions lists them; POST /v1/sessions makes one.",
  });
}

/** A client that comes back must not find an empty session under the same name. */
function lostWithServer(name: string): SandboxError {
  return new SandboxError(
    "SESSION_NOT_FOUND",
    `The session ${JSON.stringify(name)} was lost with its server, and its files with it`,
    { hint: "POST /v1/sessions makes a new one of that name." },
  );
}

function keyOf({ org, name }: { readonly org: string; readonly name: string }): string {
  return JSON.stringify([org, name]);
}

function tooMany(most: number): SandboxError {
  return new SandboxError("CONFLICT", `There are ${most} sessions already, which is the limit`, {
    hint: "Delete some, or raise server.sessions.maxPerOrg.",
  });
}
