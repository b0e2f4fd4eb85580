export {
  parseAll,
  parseChainPoint,
  parseCount,
  parseCpus,
  parseEnv,
  parseExpiryMs,
  parseInput,
  parseMemoryMb,
  parseNumberOf,
  parsePids,
  parsePort,
  parseTimeoutMs,
  type Transfer,
} from "./arguments.js";
export {
  type Action,
  addCommand,
  addExamples,
  addGlobalOptions,
  OUTCOME,
  type Outcome,
  setAction,
} from "./define-command.js";
export type {
  ExecuteOptions,
  GlobalOptions,
  GuardOptions,
  McpOptions,
  SandboxOptions,
  ShellOptions,
} from "./options.js";
export {
  addGuardOptions,
  addLimitOptions,
  addNetworkOptions,
  addRunOptions,
  addSandboxOptions,
} from "./shared-options.js";
