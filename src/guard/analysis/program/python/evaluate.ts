import type { WorkBudget } from "../../../../kit/parser/index.js";
import { isWholeTree } from "../../risk/path-rules.js";
import { marksOfResult } from "../../risk/reach.js";
import { variable } from "../environment.js";
import { createEvaluator, type Evaluator, memberOf } from "../evaluator.js";
import { type FlatTree, namedChildren, operatorOf } from "../flat-tree.js";
import type { RuleTable } from "../known-functions.js";
import {
  anyOf,
  concat,
  list,
  MARKS,
  MAX_ITEMS,
  mapping,
  mark,
  marksOf,
  named,
  number,
  text,
  UNKNOWN,
  type Value,
} from "../value.js";
import { identifierOf, type PythonNames } from "./bindings.js";
import {
  FUNCTIONS,
  HOME_PATH,
  itemsOf,
  METHODS,
  moduleNamed,
  operated,
  pathObject,
  reversed,
} from "./folding.js";
import { integerValue, stringValue } from "./literals.js";
import { BUILTINS, KNOWN_MODULES } from "./rules.js";

/** The arguments of a call, folded. */
export interface Arguments {
  readonly args: readonly Value[];
  readonly keywords: ReadonlyMap<string, Value>;
}

export interface PythonEvaluator extends Evaluator {
  argumentsOf(call: number): Arguments;
}

/** Attributes that lead to what they belong to. */
const TRANSPARENT = new Set(["__dict__", "__call__", "__func__", "__wrapped__", "__self__"]);
/** Attributes of any object that lead out of it. */
const FRAMES = new Set(["f_globals", "f_builtins", "f_back", "f_locals", "gi_frame", "cr_frame", "tb_frame"]);
const UNMISTAKABLE = new Set([
  "exec",
  "eval",
  "compile",
  "open",
  "getattr",
  "globals",
  "__import__",
  "__builtins__",
]);
const MAX_RETURNS = 8;
const MAX_NAME = 200;
const MAX_TERMS = 512;
const MAX_ARGUMENTS = 256;

export function createPythonEvaluator(
  tree: FlatTree,
  names: PythonNames,
  rules: RuleTable,
  work: WorkBudget,
): PythonEvaluator {
  const given = new Map<number, Arguments>();

  const fold = (node: number): Value => {
    switch (tree.kind(node)) {
      case "identifier":
        return identifier(node);
      case "string":
        return stringValue(tree, node, evaluate);
      case "concatenated_string":
        return concatenated(namedChildren(tree, node));
      case "integer":
        return integerValue(tree.source(node));
      case "float":
        return number(Number(tree.source(node).replaceAll("_", "")));
      case "true":
        return number(1);
      case "list":
      case "tuple":
      case "set":
      case "expression_list":
        return list(namedChildren(tree, node, MAX_ITEMS).map(item));
      case "dictionary":
        return dictionary(node);
      case "list_comprehension":
      case "generator_expression":
      case "set_comprehension":
        return comprehension(node);
      case "binary_operator":
        return binary(node);
      case "unary_operator":
        return unary(node);
      case "parenthesized_expression":
      case "await":
      case "list_splat":
      case "dictionary_splat":
      case "keyword_argument":
      case "as_pattern":
      case "type":
      case "interpolation":
        return inner(node);
      case "conditional_expression": {
        const [yes, , no] = namedChildren(tree, node);
        return anyOf([evaluate(yes ?? -1), evaluate(no ?? -1)]);
      }
      case "boolean_operator":
        return anyOf([evaluate(tree.child(node, "left")), evaluate(tree.child(node, "right"))]);
      case "named_expression":
        return evaluate(tree.child(node, "value"));
      case "lambda":
        return definition(node);
      case "attribute":
        return attribute(node);
      case "subscript":
        return subscript(node);
      case "call":
        return call(node);
      default:
        return UNKNOWN;
    }
  };

  const definition = (node: number): Value =>
    tree.kind(node) === "class_definition" ? UNKNOWN : named(`<def ${node}>`);
  const evaluator = createEvaluator(tree.size, names.scopes, fold, definition, work);
  const evaluate = (node: number): Value => (node < 0 ? UNKNOWN : evaluator.evaluate(node));
  const inner = (node: number): Value => {
    const value = tree.child(node, "value");
    return evaluate(value !== -1 ? value : (namedChildren(tree, node)[0] ?? -1));
  };
  const item = (node: number): Value => {
    const value = evaluate(node);
    return tree.kind(node) === "list_splat" ? anyOf(value.items ?? [value]) : value;
  };

  function identifier(node: number): Value {
    const name = identifierOf(tree.source(node));
    const own = evaluator.lookUp(names.scopeOf(node), name);
    if (own === undefined) return free(name);
    // `exec = exec` and `if 0: exec = print` change nothing: at the top such a name may always be the builtin one.
    const outermost = names.scopes.find(names.scopeOf(node), name)?.scope === 0;
    return outermost && UNMISTAKABLE.has(name) ? anyOf([free(name), own]) : own;
  }

  /** A name that the program does not give a value to. */
  function free(name: string): Value {
    if (name === "__builtins__") return named("builtins");
    if (name === "__file__") return text("./program.py");
    const candidates = names.stars.map((module) => `${module}.${name}`).filter((one) => rules.find(one));
    if (BUILTINS.has(name)) candidates.push(`builtins.${name}`);
    const module = KNOWN_MODULES.get(name);
    if (module !== undefined) candidates.push(module);
    return candidates.length === 0 ? UNKNOWN : named(...candidates);
  }

  function concatenated(parts: readonly number[]): Value {
    return parts
      .map(evaluate)
      .reduce((sum, part) => ({ ...concat(sum, part), marks: sum.marks | part.marks }));
  }

  function dictionary(node: number): Value {
    const keys: (string | undefined)[] = [];
    const items: Value[] = [];
    for (const one of namedChildren(tree, node, MAX_ITEMS)) {
      keys.push(tree.kind(one) === "pair" ? evaluate(tree.child(one, "key")).texts[0] : undefined);
      items.push(tree.kind(one) === "pair" ? evaluate(tree.child(one, "value")) : evaluate(one));
    }
    return mapping(keys, items);
  }

  function comprehension(node: number): Value {
    const body = tree.child(node, "body");
    const clauses = namedChildren(tree, node).filter((one) => tree.kind(one) === "for_in_clause");
    const target = tree.child(clauses[0] ?? -1, "left");
    const source = evaluate(tree.child(clauses[0] ?? -1, "right"));
    const items = itemsOf(source);
    if (clauses.length !== 1 || items === undefined || tree.kind(target) !== "identifier") {
      return { ...list([evaluate(body)]), marks: evaluate(body).marks | source.marks };
    }
    const name = identifierOf(tree.source(target));
    return list(
      items.map((one) => evaluator.evaluateWith(body, name, one)),
      source.marks,
    );
  }

  /** A long sum leans to the left: its terms are taken one by one, not by recursion. */
  function binary(node: number): Value {
    const pending: { operator: string; right: number }[] = [];
    let left = node;
    while (tree.kind(left) === "binary_operator") {
      // Whoever visits every part of a longer sum would pay for it with the square of its length.
      if (pending.length >= MAX_TERMS) return evaluator.giveUp();
      pending.push({ operator: operatorOf(tree, left), right: tree.child(left, "right") });
      left = tree.child(left, "left");
    }
    let value = evaluate(left);
    for (const { operator, right } of pending.reverse()) value = operated(operator, value, evaluate(right));
    return value;
  }

  function unary(node: number): Value {
    const value = evaluate(tree.child(node, "argument"));
    return tree.source(node).startsWith("-") && value.numbers.length > 0
      ? number(-value.numbers[0]!)
      : UNKNOWN;
  }

  function attribute(node: number): Value {
    const object = evaluate(tree.child(node, "object"));
    const name = identifierOf(tree.source(tree.child(node, "attribute")));
    if (TRANSPARENT.has(name)) return object;
    if (object.names.includes("pathlib.Path()") && name === "parent") return { ...object, texts: ["."] };
    if (object.names.length === 0) {
      const assigned = assignedTo(name);
      const leads = name.startsWith("__") || FRAMES.has(name) ? named(`?.${name}`) : UNKNOWN;
      // What a request handler reads was sent to it.
      const asked = name === "rfile" ? MARKS.network : 0;
      return mark(anyOf([assigned, leads]), object.marks | asked);
    }
    return marked(
      memberOf({ ...object, items: undefined, names: object.names.flatMap(modulesFor(name)) }, name),
    );
  }

  function assignedTo(name: string): Value {
    const found = names.attributes.find(0, name);
    return found === undefined ? UNKNOWN : evaluator.resolve(`.${name}`, found.bindings);
  }

  function subscript(node: number): Value {
    const object = evaluate(tree.child(node, "value"));
    const index = tree.child(node, "subscript");
    if (index === -1) return UNKNOWN;
    if (tree.kind(index) === "slice") return sliced(object, index);
    const key = evaluate(index);
    if (object.names.includes("os.environ")) return variable(key.texts[0]);
    if (object.names.some((name) => name === "globals()" || name === "locals()" || name === "vars()")) {
      return anyOf(key.texts.map((name) => nameAt(node, name)));
    }
    if (object.names.includes("sys.modules")) return moduleNamed(key);
    const at = key.numbers[0];
    if (at !== undefined && object.items !== undefined) return object.items.at(at) ?? UNKNOWN;
    if (at !== undefined && object.texts.length > 0) {
      return {
        ...UNKNOWN,
        texts: object.texts.map((one) => one.at(at) ?? ""),
        marks: object.marks | MARKS.built,
      };
    }
    if (at !== undefined && object.names.some((name) => name.startsWith("?."))) return object;
    if (key.texts.length > 0) return anyOf(key.texts.slice(0, 4).map((name) => memberOf(object, name)));
    const any = anyOf(object.items ?? []);
    return mark(any, object.marks);
  }

  function nameAt(node: number, name: string): Value {
    if (name === "__builtins__") return named("builtins");
    return (
      evaluator.lookUp(names.scopeOf(node), name) ??
      (BUILTINS.has(name) ? named(`builtins.${name}`) : UNKNOWN)
    );
  }

  function sliced(object: Value, slice: number): Value {
    const places: (number | undefined)[] = [undefined];
    for (let at = tree.first(slice); at !== -1; at = tree.next(at)) {
      if (tree.kind(at) === ":") places.push(undefined);
      else if (tree.isNamed(at)) places[places.length - 1] = evaluate(at).numbers[0];
    }
    const [from, to, step] = places;
    if (step === -1 && from === undefined && to === undefined) return reversed(object);
    const cut = <T>(all: readonly T[]): T[] => {
      const stride = Math.trunc(step ?? 1);
      const part = stride < 0 ? [...all].reverse() : all.slice(from ?? 0, to);
      return part.filter((_, index) => index % Math.max(1, Math.abs(stride)) === 0);
    };
    if (object.items !== undefined) return { ...object, items: cut(object.items) };
    const hiding = step === undefined || step === 1 ? MARKS.built : MARKS.decoded;
    return {
      ...UNKNOWN,
      texts: object.texts.map((one) => cut([...one]).join("")),
      marks: object.marks | (object.texts.length > 0 ? hiding : 0),
    };
  }

  const argumentsOf = (node: number): Arguments => evaluator.remember(given, node, () => foldArguments(node));

  function foldArguments(node: number): Arguments {
    const args: Value[] = [];
    const keywords = new Map<string, Value>();
    const values = tree.child(node, "arguments");
    if (values !== -1 && tree.kind(values) === "generator_expression") args.push(evaluate(values));
    else if (values !== -1) {
      for (const one of namedChildren(tree, values, MAX_ARGUMENTS)) {
        if (tree.kind(one) === "keyword_argument") {
          keywords.set(tree.source(tree.child(one, "name")), evaluate(tree.child(one, "value")));
        } else if (tree.kind(one) === "list_splat") {
          const spread = evaluate(one);
          args.push(...(spread.items ?? [spread]));
        } else args.push(evaluate(one));
      }
    }
    return { args, keywords };
  }

  function call(node: number): Value {
    const callee = tree.child(node, "function");
    const found = evaluate(callee);
    const values = argumentsOf(node);
    const { args, keywords } = values;
    const results: Value[] = [];
    for (const name of found.names) {
      const result = resultOf(name, node, args, keywords);
      if (result !== undefined) results.push(result);
    }
    if (results.length === 0 && tree.kind(callee) === "attribute") {
      const self = evaluate(tree.child(callee, "object"));
      const method = METHODS.get(identifierOf(tree.source(tree.child(callee, "attribute"))));
      const usable = self.texts.length > 0 || self.items !== undefined || self.marks !== 0;
      const result = usable ? method?.(self, args) : undefined;
      if (result !== undefined) {
        const built = self.marks & MARKS.environment;
        return mark(result, built);
      }
    }
    const returned = anyOf(results);
    const marks = found.marks | marksOf(args) | marksOf([...keywords.values()]);
    return mark(returned, (results.length > 0 ? found.marks : marks) & ~MARKS.built);
  }

  /** What a call of this name gives. */
  function resultOf(
    name: string,
    node: number,
    args: readonly Value[],
    keywords: ReadonlyMap<string, Value>,
  ): Value | undefined {
    if (name.endsWith(".__getattribute__") && name !== "builtins.object.__getattribute__") {
      const owner = named(name.slice(0, -".__getattribute__".length));
      return anyOf((args[0]?.texts ?? []).map((key) => marked(memberOf(owner, key))));
    }
    if (name.startsWith("<def ")) return returned(Number(name.slice(5, -1)), args);
    switch (name) {
      case "builtins.getattr":
      case "builtins.object.__getattribute__":
      case "inspect.getattr_static":
        return anyOf((args[1]?.texts ?? []).map((key) => marked(memberOf(args[0] ?? UNKNOWN, key))));
      case "operator.attrgetter":
      case "operator.methodcaller":
        return mark(named(`${name}()`), marksOf(args));
      case "builtins.__import__":
      case "importlib.import_module":
      case "importlib.__import__":
        return moduleNamed(args[0]);
      case "builtins.vars":
        return args.length === 0 ? named("vars()") : args[0];
      case "builtins.globals":
        return named("globals()");
      case "builtins.locals":
        return named("locals()");
      case "pathlib.Path":
      case "pathlib.PosixPath":
      case "pathlib.PurePath":
      case "pathlib.PurePosixPath":
        return pathObject(args);
      case "pathlib.Path.home":
        return HOME_PATH;
      case "pathlib.Path.cwd":
        return pathObject([]);
      case "builtins.type":
        return named("?.__class__");
    }
    const folded = FUNCTIONS.get(name)?.(args, keywords);
    if (folded !== undefined) return markTree(name, folded, args);
    // Methods of a path or of constants are folded by what they are called on.
    if (name.startsWith("pathlib.Path().") && METHODS.has(name.slice(15))) {
      const self = evaluate(tree.child(tree.child(node, "function"), "object"));
      return markTree(name, METHODS.get(name.slice(15))!(self, args) ?? UNKNOWN, [self]);
    }
    const rule = rules.find(name);
    // An answer is not what was sent.
    const taken = rule?.sends === true ? 0 : marksOf(args) | marksOf([...keywords.values()]);
    const callee = tree.child(node, "function");
    const object = tree.kind(callee) === "attribute" ? tree.child(callee, "object") : -1;
    const own = rule === undefined ? 0 : marksOfResult(rule, { args, keywords, receiver: evaluate(object) });
    const marks = taken | own;
    const result = name.length < MAX_NAME ? named(`${name}()`) : UNKNOWN;
    return mark(result, marks & ~MARKS.built);
  }

  function returned(definition: number, args: readonly Value[]): Value {
    const results = names.returnsOf(definition).slice(0, MAX_RETURNS);
    return evaluator.evaluateCall(names.parametersOf(definition), args, () => anyOf(results.map(evaluate)));
  }

  return Object.assign(evaluator, { argumentsOf });
}

const LISTINGS = /^(?:os\.(?:walk|listdir|scandir)|glob\.i?glob|pathlib\.Path\(\)\.(?:r?glob|iterdir|walk))$/;

function markTree(name: string, value: Value, args: readonly Value[]): Value {
  if (!LISTINGS.test(name)) return value;
  const whole = args.some(({ texts }) => texts.some(isWholeTree));
  return whole ? mark(value, MARKS.wholeTree) : value;
}

/** Names that say where a value comes from. */
function marked(value: Value): Value {
  const environment = value.names.includes("os.environ") ? MARKS.environment : 0;
  const asked = value.names.some((name) => REQUESTS.test(name)) ? MARKS.network : 0;
  return environment + asked === 0 ? value : mark(value, environment | asked);
}

const REQUESTS = /^(?:flask\.request|bottle\.request|fastapi\.Request)(?:\.|$)/;

/** A module whose name could not be read is any that has such a member. */
function modulesFor(member: string): (name: string) => readonly string[] {
  return (name) =>
    name === "?module"
      ? ["?module", ...SUSPECTS.filter((one) => DANGEROUS.has(member) || one === "os")]
      : [name];
}

const SUSPECTS = ["os", "subprocess"];
const DANGEROUS = new Set(["Popen", "run", "call", "check_output", "check_call", "getoutput"]);
