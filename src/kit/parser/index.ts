export { type Grammar, loadGrammar } from "./grammar.js";
export { TooMuchWork, WorkBudget } from "./work-budget.js";
