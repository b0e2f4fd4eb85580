export type { FileChange } from "./change-log.js";
export { Execution, type ExecutionEvent } from "./execution.js";
export { SandboxFiles } from "./files.js";
export { findLanguage, LANGUAGES, type Language, languageForFile, languageNames } from "./languages.js";
export { type NetworkUse, SandboxNetwork } from "./network.js";
export type { OpenPort, OpenPortOptions } from "./open-port.js";
export { type ExecutionResult, exitStatusOf, REASONS, type Reason } from "./result.js";
export { type ExecOptions, type RunCodeOptions, Sandbox } from "./sandbox.js";
export type { Terminal, TerminalOptions } from "./terminal.js";
