export { GRAMMARS, type Grammar, type Grammarian, loadGrammar } from "./grammar.js";
export { TooMuchWork, Work } from "./work.js";
