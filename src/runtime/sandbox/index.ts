export type { CellSettings } from "./cell-runner.js";
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
export { encodeFrame, encodeMessage, readFrames } from "./contexts/messages.js";
export { LONGEST_TIMEOUT_MS } from "./exec-options.js";
export { type CommandControls, Execution, type ExecutionEvent, type ExecutionSink } from "./execution.js";
export { SandboxFiles } from "./files.js";
export type { Harness } from "./harness.js";
export { RunnerWorkspace } from "./inside/runner-workspace.js";
export type { SyncProblem, SyncReport } from "./inside/sync-workspace.js";
export { findLanguage, LANGUAGES, type Language, languageForFile, languageNames } from "./languages.js";
export { needsModuleSyntax } from "./module-syntax.js";
export { type NetworkInit, type NetworkUse, SandboxNetwork, type WayOut } from "./network.js";
export { assertPorts, checkPort, type OpenPort, type OpenPortOptions, openPort } from "./open-port.js";
export { type ExecutionResult, exitStatusOf, REASONS, type Reason } from "./result.js";
export { type ExecOptions, type RunCodeOptions, RunningSandbox } from "./running-sandbox.js";
export {
  broadcastToSession,
  hasControlSocket,
  openControlSocket,
  reapControlSockets,
  requestFromSession,
} from "./session-control.js";
export { SessionSync } from "./session-sync.js";
export { SENDABLE_SIGNALS, type SendableSignal, sendableSignal, signalName } from "./signal-name.js";
export {
  exportFrom,
  type ForkOptions,
  importInto,
  type RestoreOptions,
  type SnapshotOptions,
} from "./snapshots.js";
export { syncContainerToWorkspace, syncWorkspaceToContainer } from "./sync-sandbox.js";
export { checkSize, type Terminal, type TerminalOptions, type TerminalSeat } from "./terminal.js";
export { UnsavedFiles } from "./unsaved-files.js";
export type { WarmSettings } from "./warm-interpreters.js";
