import type { OptionNames } from "../../../kit/check-options.js";
import type { ToolCall } from "../call/tool-call.js";

/** How a program runs: a tool call without what the sandbox itself says. */
export type SandboxRunOptions = Omit<
  ToolCall,
  "sessionId" | "code" | "command" | "argv" | "context" | "agentId" | "orgId" | "role"
>;

/** How a command runs. */
export type SandboxExecOptions = Omit<SandboxRunOptions, "language" | "filename" | "args" | "isolate">;

export const EXEC_OPTIONS: OptionNames<SandboxExecOptions> = {
  env: true,
  cwd: true,
  stdin: true,
  timeoutMs: true,
  maxOutputBytes: true,
  files: true,
  outputFiles: true,
  onOutputFile: true,
  tool: true,
  backend: true,
  requestId: true,
  signal: true,
};

export const RUN_OPTIONS: OptionNames<SandboxRunOptions> = {
  language: true,
  filename: true,
  args: true,
  isolate: true,
  ...EXEC_OPTIONS,
};
