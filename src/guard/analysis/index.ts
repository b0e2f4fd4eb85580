export { GRAMMARS, type Grammar, type Grammarian, loadGrammar } from "../../kit/parser/grammar.js";
export { LOADER_VARIABLES } from "./shell/command-variables.js";
export {
  type CodeLanguage,
  findCommands,
  findCommandsOfArgv,
  findCommandsOfCode,
  MAX_CODE_LENGTH,
  MAX_TEXT_LENGTH,
  type ShellAssignment,
  type ShellCommand,
  type ShellProblem,
  type ShellProgram,
  type ShellRedirect,
} from "./shell-commands.js";
