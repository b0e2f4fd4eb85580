export { execute, show, showEnd, standardInput } from "./execute.js";
export { closingLines } from "./result-text.js";
