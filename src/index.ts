export type { SandboxSession, SessionEvent, SessionExecution, SessionResult } from "@skerry/client";
export { type Config, DEFAULT_CONFIG, loadConfig, parseConfig } from "./core/config/index.js";
export {
  type Diagnosis,
  diagnose,
  type GetSandboxOptions,
  getRequiredSandbox,
  HostFile,
  runCodeOnce,
  SandboxHandle,
  SandboxManager,
  type SandboxManagerOptions,
  type SandboxRunOptions,
  type SecurityMode,
  type SessionInfo,
  SessionSandbox,
  type ToolCall,
  type ToolResult,
} from "./core/manager/index.js";
export { createMetrics, SandboxMonitor } from "./core/metrics/index.js";
export { Sandbox, type SandboxOptions } from "./core/sandbox/index.js";
export { createTools, RunCodeTool, TestDrivenSandbox, WorldInterface } from "./core/tools/index.js";
export { assess } from "./guard/analysis/index.js";
export { AuditLogger } from "./guard/audit/index.js";
export {
  AutoApproveConfirmationService,
  AutoRejectConfirmationService,
  CallbackConfirmationService,
  type ConfirmationService,
  TerminalConfirmationService,
} from "./guard/confirmation/index.js";
export { loadPolicy, type Policy, PolicyEngine, parsePolicy } from "./guard/policy/index.js";
export { ERROR_CODES, type ErrorCode, SandboxError } from "./kit/errors.js";
export {
  type Isolation,
  type Limits,
  registerBackend,
  type SandboxBackend,
} from "./runtime/backends/index.js";
export { allowDomains, Secret } from "./runtime/egress/index.js";
export { PoolManager, type PoolOptions } from "./runtime/pool/index.js";
export {
  type ExecOptions,
  Execution,
  type ExecutionEvent,
  type ExecutionResult,
  type Reason,
  type RunCodeOptions,
} from "./runtime/sandbox/index.js";
export { AgentWorkspace } from "./runtime/workspace/index.js";
