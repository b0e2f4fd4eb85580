import type { Limits } from "../../../runtime/backends/index.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { WorkspaceFiles } from "../../../runtime/workspace/index.js";
import type { CellOptions } from "../manager-options.js";
import type { StoredSession } from "../sessions/session-directory.js";

/** What a caller of the manager's sandboxes asks for. */
export interface StartOptions {
  /** Files are put in before anything runs. */
  readonly hasInputs?: boolean | undefined;
  readonly limits?: Limits | undefined;
  /** Left out: the manager's. */
  readonly backend?: string | undefined;
  /** Left out: programs in it need no cells; one that has them will do. */
  readonly cells?: boolean | CellOptions | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A tool call's own: it is never idle, until it is discarded. */
  readonly leased?: boolean | undefined;
  /** Started ahead of its first use: no caller hears of a failure. */
  readonly isBackground?: boolean | undefined;
  /** The session's files are in memory where the backend can, and go with this sandbox. */
  readonly inMemory?: boolean | undefined;
  /** Nothing will run in it: one that runs will do, whatever its limits are. */
  readonly forFiles?: boolean | undefined;
}

/** The initial content of a sandbox's workspace, and a callback with its path. */
export interface InitialContent {
  readonly fill: ForkRequest["fill"];
  readonly opened: (session: StoredSession) => void;
}

/** A new session, and what its workspace is filled with. */
export interface ForkRequest extends Pick<StartOptions, "limits" | "signal"> {
  readonly key: string;
  /** The session it is made from: a temporary one has temporary forks. */
  readonly source: string;
  readonly backend: string;
  readonly fill: (files: WorkspaceFiles) => Promise<void>;
}

/** What starting one sandbox takes. */
export interface StartRequest {
  readonly openSession: () => Promise<StoredSession>;
  readonly limits: Limits;
  readonly signal: AbortSignal | undefined;
  /** A throw-away sandbox that starts empty has nothing to read but its own: watching it would only cost. */
  readonly hasInputs: boolean;
  /** One call's own: nothing runs in it afterwards. */
  readonly isLeased: boolean;
  /** Left out: programs in it have no cells of their own. */
  readonly cells?: boolean | CellOptions | undefined;
  /** Fills a workspace that lasts; left out: a new session starts as the configuration says. */
  readonly fill?: ForkRequest["fill"] | undefined;
  /** Called once, when the sandbox has stopped. */
  readonly onStopped: (sandbox: RunningSandbox) => DirectoryFate;
}

/**
 * What becomes of a throw-away sandbox's directory: it goes, it goes unless it is empty, or the caller removes it. A
 * session's stays in any case.
 */
export type DirectoryFate = "removed" | "spare" | "kept";

/** What a sandbox needs to be started ahead of any request. */
export interface PrepareRequest {
  /** Until a session or a call has it. */
  readonly key: string;
  readonly limits: Limits;
  readonly signal: AbortSignal | undefined;
  /** Interpreters that have started when it is ready. */
  readonly languages: readonly string[];
  /** Called once, when the sandbox has stopped. */
  readonly onStopped: (sandbox: RunningSandbox) => DirectoryFate;
}

/** Where a sandbox's files are and how it is used: of one that was started ahead that changes when it is handed out. */
export interface WorkspaceSlot {
  session: StoredSession;
  /** An interpreter that was used is followed by another. */
  keepsWarm: boolean;
}

/** The same, of the pool where there is one. */
export interface SandboxRequest extends StartRequest {
  readonly key: string;
  readonly isEphemeral: boolean;
}
