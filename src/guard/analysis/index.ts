export {
  type CodeLanguage,
  findCommands,
  findCommandsOfArgv,
  findCommandsOfCode,
} from "./find-commands.js";
export { assess, type RiskAssessment } from "./risk/assess.js";
export type { Finding } from "./rules/findings.js";
export { RISK_LEVELS, type RiskLevel, rankOf, worse } from "./rules/levels.js";
export { LOADER_VARIABLES } from "./shell/command-variables.js";
export { mayRunWords } from "./shell/quiet-programs.js";
export type {
  ShellAssignment,
  ShellCommand,
  ShellProblem,
  ShellProgram,
  ShellRedirect,
} from "./shell/shell-program.js";
