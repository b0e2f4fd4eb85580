/** Plain JSON, kept as it is given. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

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
  readonly endedWhy: EndReason | undefined;
}

/** `deleted` by a caller, `expired`, `server-lost` with its server, `failed` to start. */
export type EndReason = "deleted" | "expired" | "server-lost" | "failed";

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

/** An execution as it is stored: one that runs, or with its end. */
export interface ExecutionNote {
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

export interface SessionListRequest extends PageRequest {
  readonly state?: SessionRecord["state"] | undefined;
}

export interface ExecutionListRequest extends PageRequest {
  readonly session?: string | undefined;
  readonly state?: ExecutionRecord["state"] | undefined;
}

export interface IndexedSnapshot {
  readonly id: string;
  /** The session's id. */
  readonly session: string;
  readonly createdAt: number;
  /** Its name, files, bytes. */
  readonly info: Json;
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
