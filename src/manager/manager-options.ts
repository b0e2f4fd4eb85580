import type { AuditLogger } from "../audit/index.js";
import type { Limits } from "../backends/backend.js";
import type { Config, SandboxMode } from "../config/index.js";
import type { ConfirmationService } from "../confirmation/index.js";
import type { EgressRules } from "../egress/rules.js";
import type { Secret, SecretOptions } from "../egress/secret.js";
import type { Metrics, SandboxMonitor } from "../metrics/index.js";
import type { Policy } from "../policy/index.js";
import type { PoolManager } from "../pool/index.js";
import type { SecurityMode } from "../risk/required-sandbox.js";
import type { ContextGraph } from "./context-graph.js";

export interface SandboxManagerOptions {
  /** From `loadConfig` or `parseConfig`. Left out: the defaults, no file is read. */
  readonly config?: Config;
  /** "auto", or a backend's name. Wins over the configuration's. */
  readonly backend?: string;
  readonly mode?: SandboxMode;
  /** Where sessions are kept. */
  readonly stateDir?: string;
  /** Win over the configuration's. */
  readonly limits?: Limits;
  /** False: never keep interpreters started. */
  readonly warm?: boolean;
  /**
   * Keeps sandboxes started ahead, for calls without a session and for new sessions, and bounds how many there are. It is
   * the manager's from now on, and stops with it. Its limits are the manager's where that has none of its own.
   */
  readonly pool?: PoolManager;
  /** False: leave SIGINT and SIGTERM to the caller. Left out: `runtime.cleanupOnExit`. */
  readonly handleSignals?: boolean;
  /** The session of a tool call that names none. Left out: such a call has a sandbox of its own. */
  readonly sessionId?: string;
  /** What agents may do, from `loadPolicy`. Left out: everything. */
  readonly policy?: Policy;
  /** Left out: strict where there is a policy or a confirmation service; otherwise code is not looked at. */
  readonly securityMode?: SecurityMode;
  /** Who is asked about what is dangerous. Left out: nobody, and what needs an answer is rejected. */
  readonly confirmation?: ConfirmationService;
  /** Remembers every tool call. The caller closes it. */
  readonly audit?: AuditLogger;
  /** Counts them. */
  readonly metrics?: Metrics;
  /** Told which files every execution created, modified and deleted. */
  readonly contextGraph?: ContextGraph;
  /** Watches what the sandboxes use; its alerts are audited. */
  readonly monitor?: SandboxMonitor;
  /** Hosts that sandboxes may reach besides the configuration's, from `allowDomains`. */
  readonly egress?: EgressRules;
  /** Put in at the edge besides the configuration's: programs inside have a placeholder. */
  readonly secrets?: readonly (SecretOptions | Secret)[];
  /** Other processes of this user may open ports of the sessions that run here, and change what they reach. */
  readonly doors?: boolean;
}

export interface GetSandboxOptions {
  /** A sandbox of its own whose files go with it. */
  readonly ephemeral?: boolean;
  readonly limits?: Limits;
  readonly signal?: AbortSignal;
}
