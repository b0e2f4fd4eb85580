import type { AuditLogger } from "../../guard/audit/index.js";
import type { ConfirmationService } from "../../guard/confirmation/index.js";
import type { Policy } from "../../guard/policy/index.js";
import type { Limits } from "../../runtime/backends/index.js";
import type { EgressEvent, EgressRules, Secret, SecretOptions } from "../../runtime/egress/index.js";
import type { PoolManager } from "../../runtime/pool/index.js";
import type { MountRequest } from "../../runtime/projects/index.js";
import type { Config, SandboxMode } from "../config/index.js";
import type { Metrics, SandboxMonitor } from "../metrics/index.js";
import type { SecurityMode } from "./call/required-sandbox.js";
import type { ContextGraph } from "./files/context-graph.js";

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
  /** Asks a person about dangerous calls. Left out: calls that need an answer are rejected. */
  readonly confirmation?: ConfirmationService;
  /** How many questions it is asked at once. Left out: one, as a terminal has room for. */
  readonly confirmationsAtOnce?: number;
  /** Remembers every tool call. The caller closes it. */
  readonly audit?: AuditLogger;
  /** Counts them. */
  readonly metrics?: Metrics;
  /** Told which files every execution created, modified and deleted. */
  readonly contextGraph?: ContextGraph;
  /** Watches what the sandboxes use; its alerts are audited. */
  readonly monitor?: SandboxMonitor;
  /** Told of every connection that a sandbox asked for, as the audit log is. What it throws becomes a warning. */
  readonly onConnection?: (connection: SandboxConnection) => void;
  /** Hosts that sandboxes may reach besides the configuration's, from `allowDomains`. */
  readonly egress?: EgressRules;
  /** Put in at the edge besides the configuration's: programs inside have a placeholder. */
  readonly secrets?: readonly (SecretOptions | Secret)[];
  /** Throws when nothing may run here any more. Asked before everything that starts something. */
  readonly assertMayRun?: () => void;
  /** Other processes of this user may open ports of the sessions that run here, and change what they reach. */
  readonly controlSocket?: boolean;
}

/** A connection and its session. */
export interface SandboxConnection extends EgressEvent {
  readonly sandboxId: string;
  readonly sessionId: string;
}

export interface GetSandboxOptions {
  /** A sandbox of its own whose files go with it. */
  readonly ephemeral?: boolean;
  readonly limits?: Limits;
  /** Programs in it can have cells of their own (`runCode` with `isolate`), with these limits each. */
  readonly cells?: boolean | CellOptions;
  readonly signal?: AbortSignal;
}

/** What a session starts with. */
export interface MountOptions {
  /** Directories of this host that are copied in; `projects` of the session brings back what changed. */
  readonly mounts?: readonly MountRequest[];
}

export interface OpenSessionOptions extends GetSandboxOptions {
  /**
   * Whose calls will use it: it starts with the limits that the policy has for those, or not at all where none of them may
   * run. Left out: with the limits given here.
   */
  readonly caller?: ExpectedCaller;
}

/** The caller of a session's first call. */
export interface ExpectedCaller {
  readonly role?: string | undefined;
  /** Left out: the manager's. */
  readonly backend?: string | undefined;
}

/** What each cell of a sandbox has. The sandbox's own limits hold for all of them together. */
export interface CellOptions {
  /** Of each process in it. Left out: the sandbox's. */
  readonly memoryMb?: number;
  /** Default 64. */
  readonly pids?: number;
  /** Of its workspace, which is memory. Default 64. */
  readonly workspaceMb?: number;
  /** Of its temporary files and of its shared memory, each. Default 64. */
  readonly tmpMb?: number;
  /** Modules of Python that are loaded ahead. */
  readonly preload?: readonly string[];
  /** How many programs run at once; as many cells are made ahead. Default 2. */
  readonly workers?: number;
}
