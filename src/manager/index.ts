export { type Diagnosis, diagnose } from "./doctor.js";
export type { ExplainOptions, Explanation } from "./explain-call.js";
export { missingRole } from "./judge-call.js";
export type { GuardedTerminal, TerminalCall } from "./open-terminal.js";
export { type GetSandboxOptions, SandboxManager, type SandboxManagerOptions } from "./sandbox-manager.js";
export { runCodeOnce, SessionSandbox } from "./session-sandbox.js";
export type { SessionInfo } from "./session-store.js";
export { HostFile } from "./streamed-input.js";
export type { ToolCall, ToolResult } from "./tool-call.js";
