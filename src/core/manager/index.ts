export { backendOptions, chooseBackend } from "./choose-backend.js";
export type { ContextGraph } from "./context-graph.js";
export { type Diagnosis, diagnose } from "./doctor.js";
export type { EntryChange } from "./entry-changes.js";
export type { ExplainOptions, Explanation } from "./explain-call.js";
export {
  type FileCall,
  type FileResult,
  type GuardedFiles,
  type SandboxCall,
  type TouchedPath,
  workValue,
} from "./file-call.js";
export type { FileWatch, WatchEvent } from "./file-watch.js";
export type { CallHarness } from "./harness-call.js";
export { missingRole } from "./judge-call.js";
export type { LastingHandle } from "./lasting-call.js";
export type { OutputPiece } from "./lasting-output.js";
export type { CellOptions, OpenSessionOptions, SandboxConnection } from "./manager-options.js";
export type { GuardedTerminal, TerminalCall } from "./open-terminal.js";
export { getRequiredSandbox, SECURITY_MODES, type SecurityMode } from "./required-sandbox.js";
export { type GetSandboxOptions, SandboxManager, type SandboxManagerOptions } from "./sandbox-manager.js";
export { runCodeOnce, SessionSandbox } from "./session-sandbox.js";
export type { SessionSnapshots } from "./session-snapshots.js";
export type { SessionInfo } from "./session-store.js";
export type { GuardedProcess, ProcessCall } from "./start-process.js";
export type { SandboxStarts } from "./start-tally.js";
export { HostFile } from "./streamed-input.js";
export { MAX_CODE_BYTES, type ToolCall, type ToolResult, textOf } from "./tool-call.js";
export type { WatchCall } from "./watch-files.js";
