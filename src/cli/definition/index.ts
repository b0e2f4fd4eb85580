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
export { createChoice, createChoiceArgument, createNamed } from "./choices.js";
export {
  type Action,
  addCommand,
  addExamples,
  addGlobalOptions,
  EVERYWHERE,
  inGroup,
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
