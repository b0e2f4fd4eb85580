export { GRAMMARS, type Grammar, type LanguageParser, loadGrammar } from "./grammar.js";
export { TooMuchWork, WorkBudget } from "./work-budget.js";
