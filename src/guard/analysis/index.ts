export { LOADER_VARIABLES } from "./shell/command-variables.js";
export {
  type CodeLanguage,
  findCommands,
  findCommandsOfArgv,
  findCommandsOfCode,
  findCommandsWithin,
  MAX_CODE_LENGTH,
  MAX_TEXT_LENGTH,
  type ShellAssignment,
  type ShellCommand,
  type ShellProblem,
  type ShellProgram,
  type ShellRedirect,
} from "./shell-commands.js";
export { assess, type RiskAssessment } from "./risk/assess.js";
export { type Finding, MAX_FINDINGS } from "./risk/findings.js";
export { RISK_LEVELS, type RiskLevel, rankOf, worse } from "./risk/levels.js";
