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
export { Execution } from "./executions/execution.js";
export type {
  CommandControls,
  ExecutionEvent,
  ExecutionSink,
  OutputSink,
} from "./executions/execution-sink.js";
export {
  type ExecutionResult,
  exitStatusOf,
  type PrintedOutput,
  REASONS,
  type Reason,
} from "./executions/result.js";
export {
  SENDABLE_SIGNALS,
  type SendableSignal,
  sendableSignal,
  signalName,
} from "./executions/signal-name.js";
export { checkSize, type Terminal, type TerminalInput, type TerminalOptions } from "./executions/terminal.js";
export type { FileChange } from "./files/change-log.js";
export { SandboxFiles } from "./files/sandbox-files.js";
export {
  exportFrom,
  type ForkOptions,
  importInto,
  type RestoreOptions,
  type SnapshotOptions,
} from "./files/snapshots.js";
export { RunnerWorkspace } from "./guest-files/runner-workspace.js";
export { SHELL } from "./languages/bash/language.js";
export type { Language, PythonRunner, TestingLanguage, ValueNotation } from "./languages/language.js";
export {
  DEFAULT_LANGUAGE,
  findLanguage,
  findLanguageWith,
  harnessFileName,
  LANGUAGES,
  languageForFile,
  languageNames,
  languagesWith,
} from "./languages/registry.js";
export {
  type EgressConnection,
  type NetworkInit,
  type NetworkUse,
  SandboxNetwork,
} from "./network/network.js";
export {
  assertPorts,
  checkPort,
  type OpenPort,
  type OpenPortOptions,
  openPort,
} from "./network/open-port.js";
export {
  broadcastToSession,
  hasControlSocket,
  openControlSocket,
  reapControlSockets,
  requestFromSession,
} from "./network/session-control.js";
export type { CellSettings } from "./programs/cell-runner.js";
export type { Harness } from "./programs/harness.js";
export type { WarmSettings } from "./programs/warm-interpreters.js";
export { type ExecOptions, type RunCodeOptions, RunningSandbox } from "./running-sandbox.js";
export { SessionSync, UnsavedFiles } from "./sync/session-sync.js";
export { syncContainerToWorkspace, syncWorkspaceToContainer } from "./sync/sync-sandbox.js";
export type { SyncProblem, SyncReport } from "./sync/sync-workspace.js";
