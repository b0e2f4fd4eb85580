export { allFilesAt } from "./call/all-files-at.js";
export { missingRole } from "./call/assess-call.js";
export type { FileTask, GuardedFiles, TouchedPath } from "./call/call-kind.js";
export { textOf } from "./call/checked-call.js";
export type { ExplainOptions, Explanation } from "./call/explain-call.js";
export {
  type FileCall,
  type FileResult,
  type SandboxCall,
  type SessionTask,
  workValue,
} from "./call/file-call.js";
export type { LongRunningHandle } from "./call/long-running-call.js";
export type { OutputPiece } from "./call/long-running-output.js";
export type { GuardedTerminal, TerminalCall } from "./call/open-terminal.js";
export { getRequiredSandbox, SECURITY_MODES, type SecurityMode } from "./call/required-sandbox.js";
export type { GuardedProcess, ProcessCall } from "./call/start-process.js";
export type { ToolCall, ToolResult } from "./call/tool-call.js";
export type { WatchCall } from "./call/watch-files.js";
export { type Diagnosis, diagnose } from "./doctor/doctor.js";
export type { ChecklistItem } from "./doctor/readiness.js";
export type { NetworkFacts } from "./egress/network-facts.js";
export type { InstalledPrograms } from "./facts/find-programs.js";
export type { SandboxFacts } from "./facts/sandbox-facts.js";
export type { ContextGraph } from "./files/context-graph.js";
export type { EntryChange } from "./files/entry-changes.js";
export type { FileWatch, WatchEvent } from "./files/file-watch.js";
export { HostFile } from "./files/streamed-input.js";
export { type ContextInfo, HandleContext, HandleContexts } from "./handle/handle-contexts.js";
export { type Content, HandleFiles } from "./handle/handle-files.js";
export type { SandboxCaller } from "./handle/handle-host.js";
export { HandleProcess, HandleProcesses } from "./handle/handle-processes.js";
export {
  HandleProjects,
  type ProjectChoice,
  type SessionChanges,
} from "./handle/handle-projects.js";
export { HandleSnapshots, toSnapshot } from "./handle/handle-snapshots.js";
export { HandleTerminal, HandleTerminals } from "./handle/handle-terminals.js";
export type { LiveCallInfo } from "./handle/live-call.js";
export type { LiveProcess, ProcessOutput } from "./handle/live-process.js";
export type { SandboxExecOptions, SandboxRunOptions } from "./handle/run-options.js";
export { SandboxHandle } from "./handle/sandbox-handle.js";
export { runCodeOnce, SessionSandbox } from "./handle/session-sandbox.js";
export { startLiveProcess } from "./handle/start-live-process.js";
export type {
  CellOptions,
  ExpectedCaller,
  MountOptions,
  OpenSessionOptions,
  SandboxConnection,
} from "./manager-options.js";
export { MANAGER_OPTIONS } from "./option-names.js";
export { ByteRing } from "./output/byte-ring.js";
export { OutputBudget, type OutputBuffer } from "./output/output-budget.js";
export { ProcessLog } from "./output/process-log.js";
export { createResultSchema, type ResultJson, toResultJson } from "./result-json.js";
export { type GetSandboxOptions, SandboxManager, type SandboxManagerOptions } from "./sandbox-manager.js";
export { chooseBackend } from "./sandboxes/choose-backend.js";
export type { SandboxStarts } from "./sandboxes/start-counter.js";
export type { SessionSnapshots } from "./sessions/session-snapshots.js";
export type { SessionInfo } from "./sessions/session-store.js";
