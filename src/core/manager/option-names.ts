import type { OptionNames } from "../../kit/check-options.js";
import type { ExecOptions, RunCodeOptions } from "../../runtime/sandbox/index.js";
import type { SandboxCaller } from "./handle/handle-host.js";
import type {
  GetSandboxOptions,
  MountOptions,
  OpenSessionOptions,
  SandboxManagerOptions,
} from "./manager-options.js";

export const MANAGER_OPTIONS: OptionNames<SandboxManagerOptions> = {
  config: true,
  backend: true,
  mode: true,
  stateDir: true,
  limits: true,
  warm: true,
  pool: true,
  handleSignals: true,
  sessionId: true,
  policy: true,
  securityMode: true,
  confirmation: true,
  confirmationsAtOnce: true,
  audit: true,
  metrics: true,
  contextGraph: true,
  monitor: true,
  onConnection: true,
  egress: true,
  secrets: true,
  assertMayRun: true,
  controlSocket: true,
};

const START = { ephemeral: true, limits: true, cells: true, signal: true } as const;
export const GET_SANDBOX_OPTIONS: OptionNames<GetSandboxOptions & MountOptions & SandboxCaller> = {
  ...START,
  mounts: true,
  agentId: true,
  role: true,
};
export const OPEN_SESSION_OPTIONS: OptionNames<OpenSessionOptions> = { ...START, caller: true };

const EXEC_OPTIONS: OptionNames<ExecOptions> = {
  env: true,
  cwd: true,
  stdin: true,
  timeoutMs: true,
  maxOutputBytes: true,
  signal: true,
};
export const RUN_CODE_OPTIONS: OptionNames<RunCodeOptions> = {
  language: true,
  filename: true,
  args: true,
  isolate: true,
  ...EXEC_OPTIONS,
};
