export type { FileChange } from "./change-log.js";
export { CodeContext, type ContextState } from "./contexts/code-context.js";
export type { Checkpoint, CheckpointOptions, ContextRunOptions } from "./contexts/context-options.js";
export type {
  CodeException,
  ContextEvent,
  ContextResult,
  ResultEvent,
  RichResult,
} from "./contexts/context-result.js";
export type { ContextOptions } from "./contexts/contexts.js";
export { Execution, type ExecutionEvent } from "./execution.js";
export { SandboxFiles } from "./files.js";
export type { SyncProblem, SyncReport } from "./inside/sync-workspace.js";
export { findLanguage, LANGUAGES, type Language, languageForFile, languageNames } from "./languages.js";
export { type NetworkUse, SandboxNetwork } from "./network.js";
export type { OpenPort, OpenPortOptions } from "./open-port.js";
export { type ExecutionResult, exitStatusOf, REASONS, type Reason } from "./result.js";
export { type ExecOptions, type RunCodeOptions, Sandbox } from "./sandbox.js";
export { SENDABLE_SIGNALS, type SendableSignal } from "./signal-name.js";
export type { ForkOptions, RestoreOptions, SnapshotOptions } from "./snapshots.js";
export { syncContainerToWorkspace, syncWorkspaceToContainer } from "./sync-sandbox.js";
export type { Terminal, TerminalOptions } from "./terminal.js";
