export {
  type Mount,
  parseAll,
  parseChainPoint,
  parseCount,
  parseExpiryMs,
  parseInput,
  parseMemoryMb,
  parseNumberOf,
  parsePort,
  parseTimeoutMs,
  type Transfer,
} from "./arguments.js";
export { createChoice, createChoiceArgument } from "./choices.js";
export {
  type Action,
  addCommand,
  addExamples,
  addGlobalOptions,
  EVERYWHERE,
  inHelpOrder,
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
  addBackendOption,
  addCellOptions,
  addGuardOptions,
  addLanguageOption,
  addLimitOptions,
  addNetworkOptions,
  addRunOptions,
  addSandboxOptions,
} from "./shared-options.js";
