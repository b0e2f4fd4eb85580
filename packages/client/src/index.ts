export { addressOf, type Query } from "./address.js";
export type { CallOptions } from "./api.js";
export { ApiError, apiErrorOf, unreachable } from "./api-error.js";
export type { components as ApiComponents } from "./api-types.js";
export type { ClientOptions, SocketClass, SocketLike } from "./client-options.js";
export { type ExecutionEvent, type ExecutionResult, RemoteExecution, type RichResult } from "./execution.js";
export type { ExecOptions, ExecuteRequest, RunOptions, StartOptions } from "./run-options.js";
export { type ErrorCode, SandboxError, type SandboxErrorInit } from "./sandbox-error.js";
export type {
  SandboxSession,
  SandboxSessionContexts,
  SandboxSessionFiles,
  SandboxSessionPorts,
  SandboxSessionProcesses,
  SandboxSessionSnapshots,
  SandboxSessionTerminals,
  SessionCall,
  SessionCodeOptions,
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
export { Session, type SessionInfo } from "./session.js";
export {
  type CheckpointInfo,
  type CodeRequest,
  Context,
  type ContextInfo,
  type ContextRunOptions,
  type SessionContexts,
} from "./session-contexts.js";
export type { FileEntry, SessionFiles } from "./session-files.js";
export type { SessionPorts, Tunnel } from "./session-ports.js";
export {
  type LogQuery,
  type ProcessEvent,
  type ProcessInfo,
  type ProcessLogs,
  type ProcessRequest,
  type ProcessSignal,
  RemoteProcess,
  type SessionProcesses,
} from "./session-processes.js";
export type { RestoreReport, SessionSnapshots, SnapshotInfo } from "./session-snapshots.js";
export {
  type NewTerminal,
  RemoteTerminal,
  type SessionTerminals,
  TerminalConnection,
  type TerminalInfo,
} from "./session-terminals.js";
export {
  type Approval,
  type ApprovalEvent,
  type ApprovalsClient,
  type AuditRecord,
  type Decided,
  type DecisionInput,
  type ExecutionInfo,
  type ExecutionsClient,
  type NewSession,
  type SessionsClient,
  SkerryClient,
} from "./skerry-client.js";
