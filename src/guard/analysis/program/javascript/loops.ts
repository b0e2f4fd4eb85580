import { type FlatTree, namedChildren } from "../flat-tree.js";
import { doubles, type LoopSyntax } from "../loops.js";
import type { ProgramEvaluator } from "../program-evaluator.js";
import { FUNCTIONS } from "./bindings.js";
import { identifierOf } from "./names.js";

const LOOPS = new Set(["while_statement", "for_statement", "do_statement"]);
const EXITS = new Set([
  ...["break_statement", "return_statement", "throw_statement", "yield_expression", "await_expression"],
]);
const GROWING = /^(?:push|unshift|set|add|concat|(?:append|write)File(?:Sync)?|writeSync|mkdirSync)$/;
const MANY = 100_000;

/** What JavaScript's loops look like. */
export function javaScriptLoops(tree: FlatTree, evaluator: ProgramEvaluator): LoopSyntax {
  const isOpen = (condition: number) => condition === -1 || tree.kind(condition) === "empty_statement";
  return {
    isLoop: (kind) => LOOPS.has(kind),
    isFunction: (kind) => FUNCTIONS.has(kind),
    isExit: (node) => EXITS.has(tree.kind(node)),
    isGrowth(node) {
      if (/assignment_expression$/.test(tree.kind(node))) return doubles(tree, node);
      if (tree.kind(node) !== "call_expression") return false;
      const callee = tree.child(node, "function");
      const property = callee === -1 ? -1 : tree.child(callee, "property");
      return property !== -1 && GROWING.test(identifierOf(tree.source(property)));
    },
    isCounted: (loop) => tree.kind(loop) === "for_statement" && !isOpen(tree.child(loop, "condition")),
    neverStops(loop) {
      const condition = tree.child(loop, "condition");
      if (tree.kind(loop) === "for_statement") {
        if (isOpen(condition)) return true;
        const wrapped = tree.kind(condition) === "expression_statement";
        const test = wrapped ? (namedChildren(tree, condition)[0] ?? condition) : condition;
        const limit = tree.kind(test) === "binary_expression" ? tree.child(test, "right") : -1;
        return limit !== -1 && evaluator.evaluate(limit).numbers.some((count) => count >= MANY);
      }
      if (condition === -1) return false;
      const inner = namedChildren(tree, condition)[0] ?? condition;
      if (tree.kind(inner) === "identifier") return false;
      const [value] = evaluator.evaluate(condition).numbers;
      return value !== undefined && value !== 0;
    },
  };
}
