import type { BackendSettings, LimitsConfig } from "../../runtime/backends/index.js";
import type { NetworkConfig, SecretConfig } from "../../runtime/egress/index.js";

/** The configuration after validation: every default filled in, durations in milliseconds, sizes in MiB. */
export interface Config {
  readonly sandbox: SandboxConfig;
  readonly server: ServerConfig;
}

export const SANDBOX_MODES = ["per-session", "shared", "disabled"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

export interface SandboxConfig {
  /** False: every request for a sandbox is refused; code never runs outside one instead. */
  readonly enabled: boolean;
  /** A registered backend's name, or "auto": the best isolating one of this host. */
  readonly backend: string;
  readonly mode: SandboxMode;
  /** Where sessions and their files are kept. Left out: the manager's own choice. */
  readonly stateDir?: string;
  readonly network: NetworkConfig;
  /** By the name that programs inside know them by. */
  readonly secrets: Readonly<Record<string, SecretConfig>>;
  readonly filesystem: FilesystemConfig;
  readonly runtime: RuntimeConfig;
  /** Only what the user set. `DEFAULT_LIMITS` has the rest, which apply where the backend can enforce them. */
  readonly limits: LimitsConfig;
  /** By language name. Left out: `DEFAULT_LANGUAGE_CONFIG`. */
  readonly languages: Readonly<Record<string, LanguageConfig>>;
  readonly backends: BackendsConfig;
  readonly workspace: WorkspaceConfig;
  readonly snapshots: SnapshotsConfig;
  readonly projects: ProjectsConfig;
  readonly policy: PolicyConfig;
  /** Left out: strict where there is a policy or a person to ask; otherwise code is not assessed. */
  readonly securityMode?: "strict" | "permissive";
  readonly confirmation: ConfirmationConfig;
  readonly audit: AuditConfig;
}

/** What a directory that is copied into a session may have. */
export interface ProjectsConfig {
  /** All of its files together; also of what changed inside. */
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** What the snapshots of a session may have. */
export interface SnapshotsConfig {
  /** The files of one together. */
  readonly maxBytes: number;
  /** Files, directories and links of one. */
  readonly maxFiles: number;
  /** All of them together, on disk. */
  readonly maxStoredBytes: number;
}

/** What agents may do. */
export interface PolicyConfig {
  /** A policy file; `~` is the home directory. Left out: everything may run. */
  readonly file?: string;
  /** The role of a caller that names none. */
  readonly role?: string;
}

export interface ConfirmationConfig {
  /** Without an answer for this long, the call is rejected. */
  readonly timeoutMs: number;
}

/** The record of what ran. The command line keeps it; a library's caller passes an AuditLogger. */
export interface AuditConfig {
  readonly enabled: boolean;
  /** Left out: `audit` in the state directory. */
  readonly directory?: string;
  readonly fsync: "always" | "interval" | "never";
  /** Keep the code itself, not only its hash. */
  readonly includeCode: boolean;
  readonly maxFileMb: number;
  /** Left out: files are never removed. */
  readonly keepFiles?: number;
}

/** Host paths and globs; `~` is the home directory (`expandHome`). */
export interface FilesystemConfig {
  readonly allowRead: readonly string[];
  readonly denyRead: readonly string[];
  readonly allowWrite: readonly string[];
  readonly denyWrite: readonly string[];
}

export interface RuntimeConfig {
  readonly cleanupOnExit: boolean;
  /** Of one execution. */
  readonly timeoutMs: number;
  /** A sandbox that is idle for this long is stopped; null: never. */
  readonly idleTimeoutMs: number | null;
  /** A sandbox this old is stopped; null: never. */
  readonly maxAgeMs: number | null;
}

export interface LanguageConfig {
  /** Keep an interpreter started. */
  readonly warm: boolean;
  /** Modules that the warm interpreter imports before the first program. */
  readonly preload: readonly string[];
  /** True: no two programs ever share an interpreter's hash seed; many at once wait for cold starts. */
  readonly freshHashSeed: boolean;
}

export interface BackendsConfig extends BackendSettings {
  /** Blocks of backends registered from outside, as they were written. */
  readonly [name: string]: unknown;
}

/** What a new session's workspace is filled with. */
export interface WorkspaceConfig {
  /** The directory that the names below are looked up in. Left out: a new workspace is empty. */
  readonly source?: string;
  /** Its tree is copied. */
  readonly initDirectory: string;
  /** Copied when there is no init directory. */
  readonly bootstrapFiles: readonly string[];
}

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What `skerry serve` listens on, and what its callers may use. */
export interface ServerConfig {
  readonly host: string;
  /** 0: one that is free. */
  readonly port: number;
  /** Names that a request may call this server by, besides those of the loopback and the address it listens on. */
  readonly hosts: readonly string[];
  /** Origins whose pages may use it. */
  readonly origins: readonly string[];
  /** Files. Left out: plain HTTP, on the loopback only. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** True: plain HTTP also on other addresses. */
  readonly insecure: boolean;
  /** A URL. Left out: a file in the state directory. */
  readonly store?: string;
  /** Where the other servers of the same store reach this one. Left out: what it listens on. */
  readonly url?: string;
  /** A file: the authorities of the other servers' certificates. Left out: the usual ones. */
  readonly peerCa?: string;
  /** A server without a heartbeat for so long is dead to the others. */
  readonly leaseMs: number;
  readonly limits: ServerLimitsConfig;
  readonly sessions: ServerSessionsConfig;
  readonly pool: ServerPoolConfig;
  readonly processes: ServerProcessesConfig;
  /** How long a terminal without a client lives. */
  readonly terminals: { readonly detachedMs: number };
  readonly mcp: ServerMcpConfig;
  /** How long what runs may go on after a signal to stop. */
  readonly stopDeadlineMs: number;
  readonly logs: { readonly level: LogLevel };
}

export interface ServerLimitsConfig {
  /** Of a request in JSON. Files are streamed. */
  readonly bodyBytes: number;
  /** Requests of one key at once. */
  readonly concurrency: number;
  /** Requests of one key in a minute. */
  readonly requestsPerMinute: number;
}

export interface ServerProcessesConfig {
  /** Processes of one session that run at once; as many terminals. */
  readonly perSession: number;
  /** What is kept of the output of all processes and terminals of one organisation. */
  readonly logBytes: number;
}

export interface ServerSessionsConfig {
  /** From its creation or renewal; null: until it is deleted. */
  readonly ttlMs: number | null;
  readonly maxPerOrg: number;
  /** Sandboxes at most that run for sessions that were not used yet; 0: each starts with the first use. */
  readonly startAhead: number;
}

/** The sandboxes that a server keeps ready. */
export interface ServerPoolConfig {
  /** Of all sandboxes, also those of sessions. Left out: there is no pool, and no such limit. */
  readonly maxInstances?: number;
  /** Left out: 2, or the maximum where that is less. */
  readonly minInstances?: number;
  /** Languages whose interpreters are started ahead. */
  readonly preload: readonly string[];
  readonly maxUses: number;
  readonly maxAgeMs: number;
  /** How long a call waits for a sandbox. */
  readonly acquireTimeoutMs: number;
}

/** Clients of the Model Context Protocol at `/mcp`. */
export interface ServerMcpConfig {
  /** Connections of one key at once. */
  readonly sessionsPerKey: number;
  /** A client that is not heard of for so long is taken for gone. */
  readonly idleMs: number;
}
