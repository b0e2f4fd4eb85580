import { type FlatTree, namedChildren } from "../flat-tree.js";
import { doubles, type LoopSyntax } from "../loops.js";
import type { ProgramEvaluator } from "../program-evaluator.js";
import { identifierOf } from "./bindings.js";

const LOOPS = new Set(["while_statement", "for_statement"]);
const FUNCTIONS = new Set(["function_definition", "lambda"]);
const EXITS = new Set(["break_statement", "return_statement", "raise_statement", "yield", "await"]);
/** Calls that wait for input or a peer. */
const WAITING =
  /^(?:sleep|input|recv\w*|accept|get|wait\w*|read\w*|select|poll|join|serve\w*|exit|_exit|next|communicate)$/;
const GROWING =
  /^(?:append|extend|insert|add|update|appendleft|write(?:_text|_bytes)?|mkdir|makedirs|touch)$/;
const ENDLESS = /^itertools\.(?:count|cycle|repeat)\(\)$/;
const MANY = 100_000;

/** What Python's loops look like. */
export function pythonLoops(tree: FlatTree, evaluator: ProgramEvaluator): LoopSyntax {
  const calledName = (call: number): string => {
    const callee = tree.child(call, "function");
    const kind = callee === -1 ? "" : tree.kind(callee);
    if (kind === "identifier") return identifierOf(tree.source(callee));
    return kind === "attribute" ? identifierOf(tree.source(tree.child(callee, "attribute"))) : "";
  };
  return {
    isLoop: (kind) => LOOPS.has(kind),
    isFunction: (kind) => FUNCTIONS.has(kind),
    isExit: (node) => {
      const kind = tree.kind(node);
      return EXITS.has(kind) || (kind === "call" && WAITING.test(calledName(node)));
    },
    isGrowth: (node) => {
      const kind = tree.kind(node);
      return (
        (kind === "call" && GROWING.test(calledName(node))) ||
        (/assignment$/.test(kind) && doubles(tree, node))
      );
    },
    isCounted: (loop) =>
      tree.kind(loop) === "for_statement" &&
      !evaluator.evaluate(tree.child(loop, "right")).names.some((name) => ENDLESS.test(name)),
    neverStops(loop) {
      if (tree.kind(loop) === "while_statement") {
        const condition = unwrapped(tree, tree.child(loop, "condition"));
        const [value] = condition === -1 ? [] : evaluator.evaluate(condition).numbers;
        return value !== undefined && value !== 0 && tree.kind(condition) !== "identifier";
      }
      const source = tree.child(loop, "right");
      if (source === -1) return false;
      const { names } = evaluator.evaluate(source);
      if (names.some((name) => ENDLESS.test(name))) return true;
      if (!names.includes("builtins.range()")) return false;
      return evaluator.argumentsOf(source).args.some((arg) => arg.numbers.some((count) => count >= MANY));
    },
  };
}

function unwrapped(tree: FlatTree, node: number): number {
  let inner = node;
  for (let depth = 0; depth < 8 && inner !== -1 && tree.kind(inner) === "parenthesized_expression"; depth++) {
    inner = namedChildren(tree, inner)[0] ?? inner;
  }
  return inner;
}
