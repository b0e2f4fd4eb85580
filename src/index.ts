export type {
  BackendContext,
  BackendFactory,
  Capabilities,
  CreateSpec,
  FilesystemRules,
  Instance,
  Limits,
  Probe,
  SandboxBackend,
  SessionDirectory,
} from "./backends/backend.js";
export { getBackend, listBackends, registerBackend } from "./backends/registry.js";
export { type Config, DEFAULT_CONFIG, loadConfig, parseConfig } from "./config/index.js";
export { ERROR_CODES, type ErrorCode, SandboxError } from "./errors.js";
export {
  type Diagnosis,
  diagnose,
  type GetSandboxOptions,
  runCodeOnce,
  SandboxManager,
  type SandboxManagerOptions,
  type SessionInfo,
  SessionSandbox,
} from "./manager/index.js";
export {
  type ExecOptions,
  Execution,
  type ExecutionEvent,
  type ExecutionResult,
  type Language,
  languageNames,
  REASONS,
  type Reason,
  type RunCodeOptions,
  Sandbox,
  SandboxFiles,
  type Terminal,
  type TerminalOptions,
} from "./sandbox/index.js";
export { GuestConnection, type Runner } from "./wire/index.js";
export {
  AgentWorkspace,
  type Collected,
  type CollectOptions,
  type Entry,
  type InputFile,
  type OutputFile,
  PathTraversalError,
} from "./workspace/index.js";
