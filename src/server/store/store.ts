/** Plain JSON, kept as it is given. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/** What survives a restart. Moments are milliseconds since 1970; what belongs to an org is found only with that org. */
export interface Store {
  readonly kind: "sqlite" | "postgres";
  readonly apiKeys: ApiKeys;
  readonly sessions: Sessions;
  readonly servers: Servers;
  readonly approvals: Approvals;
  readonly executions: Executions;
  readonly snapshots: SnapshotIndex;
  readonly audit: AuditIndex;
  /** Resolves when the database answers; STORE_FAILED otherwise. */
  ping(): Promise<void>;
  /** Numbers over all orgs and servers, for operators. */
  figures(): Promise<StoreFigures>;
  close(): Promise<void>;
}

export interface StoreFigures {
  /** Of the whole database. */
  readonly bytes: number;
  readonly activeSessions: number;
  readonly runningExecutions: number;
  readonly pendingApprovals: number;
}

/** Which part of a list: at most `limit` (100; up to 1000) from where `cursor`, a page's `next`, points to. */
export interface PageRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The latest first. Following `next` shows everything that stays exactly once, whatever comes and goes meanwhile. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Undefined: that was the last page. */
  readonly next: string | undefined;
}

/** What a key may do. */
export interface KeyScopes {
  readonly roles: readonly string[] | "all";
  readonly readOnly: boolean;
  readonly approve: boolean;
  readonly admin: boolean;
}

export interface ApiKeyRecord {
  readonly id: string;
  readonly org: string;
  readonly name: string;
  readonly scopes: KeyScopes;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** To within five minutes. */
  readonly lastUsedAt: number | undefined;
}

export interface NewApiKey {
  readonly name: string;
  readonly scopes: KeyScopes;
  readonly expiresAt?: number | undefined;
}

/** A key with its secret, which is told this once and kept as a hash only. */
export interface CreatedApiKey {
  readonly key: ApiKeyRecord;
  /** `sk_<id>_<random>` */
  readonly secret: string;
}

export interface ApiKeys {
  create(org: string, key: NewApiKey): Promise<CreatedApiKey>;
  /** The first key of all; undefined when any org has one already. Of two callers at once one gets it. */
  createFirst(org: string, key: NewApiKey): Promise<CreatedApiKey | undefined>;
  /** All of an org, the latest first, revoked and expired ones too. */
  list(org: string): Promise<readonly ApiKeyRecord[]>;
  /** False: there is no such key that is not revoked already. */
  revoke(org: string, id: string): Promise<boolean>;
  /** The key of a presented secret. Undefined whatever is wrong with it: malformed, unknown, expired, revoked. */
  find(secret: string): Promise<ApiKeyRecord | undefined>;
}

export interface SessionRecord {
  readonly org: string;
  /** Unique among the org's active sessions; may be used again after the end. */
  readonly name: string;
  /** Never used again: what the session's files and its sandbox go by. */
  readonly id: string;
  readonly role: string | undefined;
  /** Limits, backend and whatever else it was created with. */
  readonly settings: Json;
  readonly createdAt: number;
  readonly renewedAt: number;
  /** Undefined: it does not expire. */
  readonly expiresAt: number | undefined;
  /** The id of the server that has it, or had it last. */
  readonly server: string | undefined;
  readonly state: "active" | "ended";
  readonly endedAt: number | undefined;
  readonly endedWhy: EndedWhy | undefined;
}

/** `deleted` by a caller, `expired`, `server-lost` with its server, `failed` to start. */
export type EndedWhy = "deleted" | "expired" | "server-lost" | "failed";

export interface NewSession {
  readonly name: string;
  readonly role?: string | undefined;
  readonly settings: Json;
  readonly expiresAt?: number | undefined;
  /** Makes it this server's; STORE_FAILED when the lease is void. Left out: it has no server until it is claimed. */
  readonly lease?: LeaseToken | undefined;
  readonly idempotency?: Idempotency | undefined;
}

/** A caller's key for one request. The request is compared as JSON, without regard to the order of keys. */
export interface Idempotency {
  readonly key: string;
  readonly request: Json;
}

export interface CreatedSession {
  readonly session: SessionRecord;
  /** False: an earlier call with the same idempotency key made it. It may have ended since. */
  readonly isNew: boolean;
}

export interface Sessions {
  /** CONFLICT: the name is in use, or the idempotency key came with another request before. */
  create(org: string, session: NewSession): Promise<CreatedSession>;
  /** The active session of that name. */
  get(org: string, name: string): Promise<SessionRecord | undefined>;
  /** The last one that had that name, also when it has ended. */
  getLast(org: string, name: string): Promise<SessionRecord | undefined>;
  /** Also one that has ended. */
  getById(org: string, id: string): Promise<SessionRecord | undefined>;
  list(org: string, request?: SessionListRequest): Promise<Page<SessionRecord>>;
  /** Undefined: there is no active session of that name, or its time is over. */
  renew(
    org: string,
    name: string,
    expiresAt: number | undefined,
    id?: string,
  ): Promise<SessionRecord | undefined>;
  /** True: a session was made with it. */
  isIdempotencyKey(org: string, key: string): Promise<boolean>;
  /** The session that this call ended; undefined when there was none. Of two callers one gets it. */
  end(org: string, name: string, why: EndedWhy, id?: string): Promise<SessionRecord | undefined>;
  /** Ends and returns the expired sessions of this server and those without one. Each is returned to one caller, once. */
  takeExpired(now: number, server: string): Promise<readonly SessionRecord[]>;
  /** This server's ended sessions whose files have not been removed yet, also from before a crash. */
  listUncleaned(server: string): Promise<readonly SessionRecord[]>;
  /** The files are gone. */
  markCleaned(ids: readonly string[]): Promise<void>;
  /** Forgets ended and cleaned sessions, and idempotency keys, from before that moment. Resolves to how many. */
  prune(before: number): Promise<number>;
}

export interface ServerRecord {
  readonly id: string;
  /** Where it is reached; empty: nowhere yet. */
  readonly url: string;
  readonly startedAt: number;
  readonly leaseUntil: number;
}

/** Identifies one run of a server. A later run under the same id makes it void. */
export interface LeaseToken {
  readonly server: string;
  readonly run: string;
}

/** The result of a claim. Not claimed: another server has it; `owner` is undefined when that server is dead. */
export type ClaimResult =
  | { readonly claimed: true; readonly session: SessionRecord }
  | { readonly claimed: false; readonly session: SessionRecord; readonly owner: ServerRecord | undefined };

/** Who has a session. */
export interface SessionOwner {
  /** The server's id. */
  readonly server: string;
  /** Undefined: it is dead. */
  readonly record: ServerRecord | undefined;
}

/** What ended with dead servers. */
export interface EndedWithServers {
  readonly servers: readonly string[];
  readonly sessions: readonly SessionRecord[];
  readonly approvals: readonly ApprovalRecord[];
  readonly executions: readonly ExecutionRecord[];
}

/**
 * Which servers are alive. Leases are counted by the database's clock, so servers' clocks need not agree. A server without a
 * successful `heartbeat` for the length of its lease has to stop what it runs: it may have been declared dead.
 */
export interface Servers {
  /**
   * Begins a run. The id is the state directory's: after a crash the next run has the sessions of the one before, whose
   * lease is void from now on. The caller sees to it that no other process uses that directory.
   */
  start(server: { readonly id: string; readonly url: string; readonly leaseMs: number }): Promise<LeaseToken>;
  /** Says where it is reached from now on. */
  announce(lease: LeaseToken, url: string): Promise<void>;
  /** Prolongs a lease. False: the server was declared dead, or has another run, and nothing is its own any more. */
  heartbeat(lease: LeaseToken, leaseMs: number): Promise<boolean>;
  /** Gives the lease back; the sessions stay the server's for as long as `leaseMs` says, so that it may come back. */
  stop(lease: LeaseToken, leaseMs: number): Promise<void>;
  /** Those whose lease has not run out. */
  list(): Promise<readonly ServerRecord[]>;
  get(id: string): Promise<ServerRecord | undefined>;
  /** Who has the active session of that name. Undefined: there is none, or no server ever had it. */
  ownerOf(org: string, name: string): Promise<SessionOwner | undefined>;
  /**
   * Makes an active session this server's, when no other ever had it: its files are where it was. Undefined: there is no
   * such active session. STORE_FAILED: the lease is void.
   */
  claim(lease: LeaseToken, org: string, name: string): Promise<ClaimResult | undefined>;
  /**
   * Ends what dead servers had: sessions, with what the index has of their snapshots, pending approvals, running
   * executions. Each is returned to one caller, once. A server whose own lease is void ends nothing: it may be the one that
   * is dead.
   */
  reapDead(lease: LeaseToken): Promise<EndedWithServers>;
}

export type ApprovalDecision = "approved" | "edited" | "rejected" | "expired" | "cancelled" | "interrupted";

export interface ApprovalOutcome {
  readonly decision: ApprovalDecision;
  /** Who decided; undefined: it was not decided by a person. */
  readonly by: string | undefined;
  /** What came with it: a reason, edited code, a scope. */
  readonly answer: Json;
  readonly at: number;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly org: string;
  /** The session's id. */
  readonly session: string | undefined;
  /** The server whose call waits for it. */
  readonly server: string;
  readonly request: Json;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Undefined: pending. */
  readonly outcome: ApprovalOutcome | undefined;
}

export interface NewApproval {
  /** CONFLICT when it was used before. */
  readonly id: string;
  readonly session?: string | undefined;
  readonly server: string;
  readonly request: Json;
  readonly expiresAt: number;
}

export interface NewDecision {
  readonly decision: ApprovalDecision;
  readonly by?: string | undefined;
  readonly answer?: Json | undefined;
}

/** As much of a request as shows whether there is something to tell. */
export interface ApprovalState {
  readonly id: string;
  readonly isDecided: boolean;
}

export interface Approvals {
  add(org: string, approval: NewApproval): Promise<ApprovalRecord>;
  /**
   * The first decision counts, and `accepted` says whether it was this one; the record has the one that counts. What
   * comes after `expiresAt` finds it expired. Undefined: there is no such request.
   */
  decide(
    org: string,
    id: string,
    decision: NewDecision,
  ): Promise<{ readonly accepted: boolean; readonly approval: ApprovalRecord } | undefined>;
  get(org: string, id: string): Promise<ApprovalRecord | undefined>;
  /** Forgets what was asked, where it is long and was decided before that time: the record of it is the audit log's. */
  forgetRequests(before: number): Promise<number>;
  /** Pending and not expired, the oldest first, at most 1000. */
  listPending(org: string): Promise<readonly ApprovalRecord[]>;
  /**
   * Of an org, whichever server asks: what expires after a moment, the latest 10,000, and those of these ids that there
   * are. The oldest first.
   */
  listStates(
    org: string,
    which: { readonly expiringAfter: number; readonly ids: readonly string[] },
  ): Promise<readonly ApprovalState[]>;
  /** Those of these ids that there are, the oldest first. */
  getAll(org: string, ids: readonly string[]): Promise<readonly ApprovalRecord[]>;
  /** What was decided of those of this server's, wherever it was decided: for the calls that wait. */
  listDecided(server: string, ids: readonly string[]): Promise<readonly ApprovalRecord[]>;
  /** This server's undecided ones, of all orgs, the oldest first. */
  listUndecidedOf(server: string): Promise<readonly ApprovalRecord[]>;
  /** This server's pending ones become `interrupted`, and are returned. For a start, before new work. */
  rejectAllOf(server: string): Promise<readonly ApprovalRecord[]>;
  /** Forgets what was decided or has expired before that moment. Resolves to how many. */
  prune(before: number): Promise<number>;
}

export interface ExecutionRecord {
  readonly id: string;
  readonly org: string;
  /** The session's id. */
  readonly session: string | undefined;
  readonly server: string;
  readonly tool: string;
  readonly state: "running" | "done" | "interrupted";
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** A summary; null until it is done. */
  readonly result: Json;
}

/** An execution as it is written down: one that runs, or with its end. */
export interface NotedExecution {
  readonly org: string;
  readonly id: string;
  /** The session's id. */
  readonly session?: string | undefined;
  /** Who runs it. */
  readonly server: string;
  readonly tool: string;
  readonly startedAt: number;
  readonly end?: { readonly at: number; readonly result: Json } | undefined;
}

export interface Executions {
  /** Writes them down, all or none. An end is written to what runs, once: what has ended or was interrupted stays so. */
  record(executions: readonly NotedExecution[]): Promise<void>;
  get(org: string, id: string): Promise<ExecutionRecord | undefined>;
  list(org: string, request?: ExecutionListRequest): Promise<Page<ExecutionRecord>>;
  /** This server's running ones become `interrupted`, and are returned. For a start, before new work. */
  interruptAllOf(server: string): Promise<readonly ExecutionRecord[]>;
  /** Forgets what began before a moment, and all but the latest `keep` of each org. What runs stays. */
  prune(what: { readonly before?: number; readonly keep?: number }): Promise<number>;
}

export interface SessionListRequest extends PageRequest {
  readonly state?: SessionRecord["state"] | undefined;
}

export interface ExecutionListRequest extends PageRequest {
  readonly session?: string | undefined;
  readonly state?: ExecutionRecord["state"] | undefined;
}

export interface SnapshotRecord {
  readonly id: string;
  /** The session's id. */
  readonly session: string;
  readonly createdAt: number;
  /** Its name, files, bytes. */
  readonly info: Json;
}

/** Which snapshots there are, over all sessions. The files are the truth; this finds them. */
export interface SnapshotIndex {
  /** Again for the same session and id: replaces what was said. */
  put(org: string, snapshot: SnapshotRecord): Promise<void>;
  list(
    org: string,
    request?: PageRequest & { readonly session?: string | undefined },
  ): Promise<Page<SnapshotRecord>>;
  remove(org: string, session: string, id: string): Promise<boolean>;
  removeAllOf(org: string, session: string): Promise<number>;
}

export interface AuditEntry {
  /** Which log: every server has a chain of its own. */
  readonly log: string;
  /** The record's number in it. */
  readonly seq: number;
  readonly org: string;
  /** As the record names it. */
  readonly session: string | undefined;
  readonly eventType: string;
  readonly tool: string | undefined;
  readonly result: string | undefined;
  readonly at: number;
}

export interface AuditFilter extends PageRequest {
  readonly session?: string | undefined;
  readonly eventType?: string | undefined;
  readonly tool?: string | undefined;
  readonly result?: string | undefined;
  /** Not before this. */
  readonly since?: number | undefined;
  /** Before this. */
  readonly until?: number | undefined;
}

/** Where audit records are, over all logs. The chain is the truth; this finds them. */
export interface AuditIndex {
  /** What is there already stays as it is, so that a log may be indexed again after a crash. */
  insert(entries: readonly AuditEntry[]): Promise<void>;
  /** The number of the last record of a log that is in here; 0: none, or all were pruned. */
  lastSeq(log: string): Promise<number>;
  query(org: string, filter?: AuditFilter): Promise<Page<AuditEntry>>;
  prune(before: number): Promise<number>;
}
