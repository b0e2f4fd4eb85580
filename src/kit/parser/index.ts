export { GRAMMARS, type Grammar, type Grammarian, loadGrammar } from "./grammar.js";
export { TooMuchWork, WorkBudget } from "./work-budget.js";
