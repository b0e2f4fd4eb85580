export { addressOf } from "./address.js";
export type { CallOptions } from "./api.js";
export { ApiError, apiErrorOf, unreachable } from "./api-error.js";
export type { ClientOptions } from "./client-options.js";
export { type ExecutionEvent, type ExecutionResult, RemoteExecution, type RichResult } from "./execution.js";
export { type ErrorCode, SandboxError, type SandboxErrorInit } from "./sandbox-error.js";
export type {
  SandboxSession,
  SandboxSessionContexts,
  SandboxSessionFiles,
  SandboxSessionPorts,
  SandboxSessionProcesses,
  SandboxSessionSnapshots,
  SandboxSessionTerminals,
  SessionContext,
  SessionEvent,
  SessionExecution,
  SessionFetchOptions,
  SessionFile,
  SessionProcess,
  SessionProcessEvent,
  SessionResult,
  SessionRunOptions,
  SessionSnapshot,
  SessionTerminal,
  SessionTerminalConnection,
} from "./sandbox-session.js";
export { type RunOptions, Session, type SessionInfo } from "./session.js";
export {
  type CheckpointInfo,
  Context,
  type ContextInfo,
  type ContextRunOptions,
} from "./session-contexts.js";
export type { FileEntry } from "./session-files.js";
export type { Tunnel } from "./session-ports.js";
export {
  type ProcessEvent,
  type ProcessInfo,
  type ProcessLogs,
  type ProcessSignal,
  RemoteProcess,
  type StartOptions,
} from "./session-processes.js";
export type { RestoreReport, SnapshotInfo } from "./session-snapshots.js";
export {
  type NewTerminal,
  RemoteTerminal,
  TerminalConnection,
  type TerminalInfo,
} from "./session-terminals.js";
export {
  type Approval,
  type ApprovalEvent,
  type AuditRecord,
  type Decided,
  type DecisionInput,
  type ExecutionInfo,
  SkerryClient,
} from "./skerry-client.js";
