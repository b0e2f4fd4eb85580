/** How an attempt ended. */
export const AUDIT_RESULTS = [
  "success",
  "failure",
  "timeout",
  "memory",
  "output-limit",
  "cancelled",
  "denied",
  "rejected",
  "error",
  "interrupted",
] as const;
export type AuditResult = (typeof AUDIT_RESULTS)[number];

/** What an attempt's record is called. */
export const EXECUTION_EVENT = "sandbox_execution";

/** Facts of an event that have no column of their own. */
export type AuditDetails = Readonly<Record<string, string | number | boolean | null>>;

/** One line of the log. Every key is always there; null says that it is not known or does not apply. */
export interface AuditRecord {
  /** Counts from 1, without a hole, over all files. */
  readonly seq: number;
  /** Of the attempt or event; no two records have the same. */
  readonly id: string;
  /** When it ended, in UTC. */
  readonly timestamp: string;
  readonly started_at: string | null;
  /** "sandbox_execution" for an attempt, "resource_alert" and the like for others; "audit_…" is the log's own. */
  readonly event_type: string;
  readonly session_id: string | null;
  readonly agent_id: string | null;
  readonly org_id: string | null;
  readonly role: string | null;
  readonly sandbox_id: string | null;
  readonly backend: string | null;
  readonly tool: string | null;
  readonly language: string | null;
  /** "sha256:…" of the code as it was given, or of the command where there is no code. */
  readonly code_hash: string | null;
  /** Only where the logger was told to keep it; secrets redacted. */
  readonly code: string | null;
  readonly command: string | null;
  readonly execution_time_ms: number | null;
  readonly exit_code: number | null;
  readonly memory_used_mb: number | null;
  readonly cpu_time_ms: number | null;
  readonly network_bytes_sent: number | null;
  readonly network_bytes_recv: number | null;
  readonly files_read: readonly string[] | null;
  readonly files_written: readonly string[] | null;
  readonly files_deleted: readonly string[] | null;
  /** How many paths did not fit into the three lists. */
  readonly files_left_out: number;
  readonly result: AuditResult | null;
  readonly error: string | null;
  readonly risk_level: string | null;
  /** Names of the risk rules that fired. */
  readonly findings: readonly string[] | null;
  readonly policy_rule: string | null;
  /** Who had the last word: "policy", "terminal", a person's name. */
  readonly decided_by: string | null;
  /** What came of asking: "approved", "edited", "rejected", "timeout". */
  readonly confirmation: string | null;
  readonly details: AuditDetails | null;
  readonly host: string;
  readonly pid: number;
  /** The hash of the record before; 64 zeros in the first. */
  readonly prev: string;
  /** SHA-256 over the canonical JSON of all the other keys. */
  readonly hash: string;
}

/** A record before it has its place in the chain: `seq` and `prev` do not count yet. */
export type AuditBody = Omit<AuditRecord, "hash">;

type Maybe<T> = T | null | undefined;

/** What a caller knows of an attempt or event, at its beginning or at its end. */
export interface AuditFields {
  readonly sessionId?: Maybe<string>;
  readonly agentId?: Maybe<string>;
  readonly orgId?: Maybe<string>;
  readonly role?: Maybe<string>;
  readonly sandboxId?: Maybe<string>;
  readonly backend?: Maybe<string>;
  readonly tool?: Maybe<string>;
  readonly language?: Maybe<string>;
  /** Hashed; kept as text only where the logger was told so. */
  readonly code?: Maybe<string>;
  readonly command?: Maybe<string>;
  readonly executionTimeMs?: Maybe<number>;
  readonly exitCode?: Maybe<number>;
  readonly memoryUsedMb?: Maybe<number>;
  readonly cpuTimeMs?: Maybe<number>;
  readonly networkBytesSent?: Maybe<number>;
  readonly networkBytesRecv?: Maybe<number>;
  readonly filesRead?: Maybe<readonly string[]>;
  readonly filesWritten?: Maybe<readonly string[]>;
  readonly filesDeleted?: Maybe<readonly string[]>;
  readonly error?: Maybe<string>;
  readonly riskLevel?: Maybe<string>;
  readonly findings?: Maybe<readonly string[]>;
  readonly policyRule?: Maybe<string>;
  readonly decidedBy?: Maybe<string>;
  readonly confirmation?: Maybe<string>;
  readonly details?: Maybe<AuditDetails>;
}

/** How an attempt ended, and what is known by then. What is given here replaces what was given at the beginning. */
export interface AuditOutcome extends AuditFields {
  readonly result: AuditResult;
}

/** An event other than an attempt. */
export interface AuditEvent extends AuditFields {
  /** Letters, digits and underscores; "audit_…" is reserved. */
  readonly eventType: string;
  readonly result?: Maybe<AuditResult>;
}
