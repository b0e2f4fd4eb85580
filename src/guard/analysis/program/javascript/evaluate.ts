import type { WorkBudget } from "../../../../kit/parser/index.js";
import { variable } from "../environment.js";
import { withoutEscapes } from "../escapes.js";
import { createEvaluator, elementOf, marksOfResult, memberOf } from "../evaluator.js";
import { type FlatTree, namedChildren, operatorOf } from "../flat-tree.js";
import type { FunctionTable } from "../known-functions.js";
import { type Arguments, OPEN } from "../process-start.js";
import type { CallTarget, ProgramEvaluator } from "../reader.js";
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
  OFF,
  oneOf,
  text,
  UNKNOWN,
  type Value,
} from "../value.js";
import { isFunction, type JavaScriptNames, keyOf, WRAPPERS } from "./bindings.js";
import { FUNCTIONS, METHODS, operated } from "./folding.js";
import { identifierOf, moduleNameOf } from "./names.js";
import { GLOBALS, LOADERS } from "./rules.js";

const MAX_NAME = 200;
const MAX_TERMS = 512;
const MAX_ARGUMENTS = 256;
const UNMISTAKABLE = new Set(["eval", "Function", "require", "process", "module", "global", "globalThis"]);
const MAX_RETURNS = 8;

export function createJavaScriptEvaluator(
  tree: FlatTree,
  names: JavaScriptNames,
  rules: FunctionTable,
  work: WorkBudget,
): ProgramEvaluator {
  const given = new Map<number, Arguments>();

  const fold = (node: number): Value => {
    const kind = tree.kind(node);
    if (WRAPPERS.has(kind)) return evaluate(namedChildren(tree, node)[0] ?? -1);
    if (isFunction(tree, node)) return named(`<def ${node}>`);
    switch (kind) {
      case "identifier":
      case "shorthand_property_identifier":
        return identifier(node);
      case "this":
        return named("this");
      case "import":
        return named("import");
      case "string":
      case "template_string":
        return string(node);
      case "number":
        return number(Number(tree.source(node).replaceAll("_", "").replace(/n$/, "")));
      case "true":
        return number(1);
      case "false":
        return number(0);
      case "null":
      case "undefined":
        return named(OFF);
      case "array":
        return list(namedChildren(tree, node, MAX_ITEMS).flatMap(item));
      case "object":
        return object(node);
      case "binary_expression":
        return binary(node);
      case "unary_expression":
        return unary(node);
      case "ternary_expression":
        return oneOf([evaluate(tree.child(node, "consequence")), evaluate(tree.child(node, "alternative"))]);
      case "assignment_expression":
      case "augmented_assignment_expression":
        return evaluate(tree.child(node, "right"));
      case "type_assertion":
      case "sequence_expression":
        return evaluate(namedChildren(tree, node).at(-1) ?? -1);
      case "member_expression":
        return member(node);
      case "subscript_expression":
        return subscript(node);
      case "call_expression":
      case "new_expression":
        return call(node);
      default:
        return UNKNOWN;
    }
  };

  const evaluator = createEvaluator(tree.size, names.scopes, fold, (node) => named(`<def ${node}>`), work);
  const evaluate = (node: number): Value => (node < 0 ? UNKNOWN : evaluator.evaluate(node));

  const item = (node: number): readonly Value[] => {
    const value = evaluate(node);
    return tree.kind(node) === "spread_element"
      ? (value.items ?? [{ ...UNKNOWN, marks: value.marks }])
      : [value];
  };

  function identifier(node: number): Value {
    const name = identifierOf(tree.source(node));
    const own = evaluator.lookUp(names.scopeOf(node), name);
    if (own === undefined) return free(name);
    // `var require = require` and `if (0) eval = x` change nothing: at the top such a name may always be the builtin one.
    const outermost = names.scopes.find(names.scopeOf(node), name)?.scope === 0;
    return outermost && UNMISTAKABLE.has(name) ? anyOf([free(name), own]) : withEnvironment(own);
  }

  /** A name that the program does not give a value to. */
  function free(name: string): Value {
    if (name === "__dirname") return text(".");
    if (name === "__filename") return text("./program.js");
    return withEnvironment(global(name));
  }

  function global(name: string): Value {
    if (name === "global" || name === "window" || name === "self" || name === "globalThis")
      return named("globalThis");
    return GLOBALS.has(name) ? named(name) : UNKNOWN;
  }

  function string(node: number): Value {
    let result = "";
    let marks = 0;
    let spelt = 0;
    for (let at = tree.first(node); at !== -1; at = tree.next(at)) {
      switch (tree.kind(at)) {
        case "string_fragment":
          result += tree.source(at);
          break;
        case "escape_sequence": {
          const letter = withoutEscapes(tree.source(at), true).text;
          if (/^[\w/]$/.test(letter)) spelt++;
          result += letter;
          break;
        }
        case "template_substitution": {
          const value = evaluate(namedChildren(tree, at)[0] ?? -1);
          const known = value.texts[0] ?? (value.numbers.length > 0 ? String(value.numbers[0]) : undefined);
          // An unknown part is a hole; what is known is put in.
          const whole = concat(text(result), known === undefined ? UNKNOWN : text(known));
          result = whole.texts[0] ?? result;
          marks |= value.marks | (known === undefined ? 0 : MARKS.built);
          break;
        }
      }
    }
    return text(result, marks | (spelt >= 2 ? MARKS.decoded : 0));
  }

  function object(node: number): Value {
    const keys: (string | undefined)[] = [];
    const items: Value[] = [];
    for (const one of namedChildren(tree, node, MAX_ITEMS)) {
      switch (tree.kind(one)) {
        case "pair": {
          const key = tree.child(one, "key");
          const computed = tree.kind(key) === "computed_property_name";
          keys.push(computed ? evaluate(namedChildren(tree, key)[0] ?? -1).texts[0] : keyOf(tree, key));
          items.push(evaluate(tree.child(one, "value")));
          break;
        }
        case "shorthand_property_identifier":
          keys.push(identifierOf(tree.source(one)));
          items.push(evaluate(one));
          break;
        case "method_definition":
          keys.push(keyOf(tree, tree.child(one, "name")));
          items.push(evaluate(one));
          break;
        default:
          keys.push(undefined);
          items.push(evaluate(one));
      }
    }
    return mapping(keys, items);
  }

  /** A long sum leans to the left: its terms are taken one by one, not by recursion. */
  function binary(node: number): Value {
    const pending: { operator: string; right: number }[] = [];
    let left = node;
    while (left !== -1 && tree.kind(left) === "binary_expression") {
      if (pending.length >= MAX_TERMS) return evaluator.giveUp();
      pending.push({ operator: operatorOf(tree, left), right: tree.child(left, "right") });
      left = tree.child(left, "left");
    }
    let value = evaluate(left);
    for (const { operator, right } of pending.reverse()) {
      const other = evaluate(right);
      const either = operator === "||" || operator === "??" || operator === "&&";
      value = either ? oneOf([value, other]) : operated(operator, value, other);
    }
    return value;
  }

  function unary(node: number): Value {
    const value = evaluate(tree.child(node, "argument"));
    const source = tree.source(node);
    if (source.startsWith("!"))
      return value.numbers.length > 0 ? number(value.numbers[0] === 0 ? 1 : 0) : UNKNOWN;
    if (source.startsWith("+")) return value;
    if (!source.startsWith("-")) return UNKNOWN;
    return mark(value.numbers.length > 0 ? number(-value.numbers[0]!) : UNKNOWN, value.marks);
  }

  function member(node: number): Value {
    const value = evaluate(tree.child(node, "object"));
    return memberNamed(value, identifierOf(tree.source(tree.child(node, "property"))));
  }

  function memberNamed(value: Value, name: string): Value {
    if (value.names.includes("process.env")) return variable(name);
    if (name === "length" && value.items !== undefined) return number(value.items.length);
    // The constructor of a function makes functions, and so does the constructor of a constructor.
    if (
      name === "constructor" &&
      value.names.some((one) => /^<def |(?:^|\.)constructor$|^Function\b/.test(one))
    )
      return named("Function.constructor");
    const own = value.names.filter((one) => one !== "this" && !one.startsWith("<def "));
    const leads = name === "constructor" || name === "__proto__" ? named(`?.${name}`) : UNKNOWN;
    if (own.length === 0) {
      const part =
        value.items === undefined ? UNKNOWN : mark(memberOf({ ...value, names: [] }, name), MARKS.partial);
      return mark(anyOf([assignedTo(name), leads, part]), value.items === undefined ? value.marks : 0);
    }
    const found = memberOf({ ...value, names: own.flatMap(modulesFor(name)) }, name);
    return withEnvironment({ ...found, names: found.names.map(plainName) });
  }

  /** What a function that is handed on makes flows into the result. */
  function callbackMarks(args: readonly Value[]): number {
    const definitions = args.flatMap(({ names: own }) => own.filter((name) => name.startsWith("<def ")));
    return definitions.slice(0, MAX_RETURNS).reduce(
      (marks, name) =>
        marks |
        marksOf(
          names
            .returnsOf(Number(name.slice(5, -1)))
            .slice(0, MAX_RETURNS)
            .map(evaluate),
        ),
      0,
    );
  }

  function assignedTo(name: string): Value {
    const found = names.members.find(0, name);
    // Another object's member may have the same name.
    return found === undefined ? UNKNOWN : mark(evaluator.resolve(`.${name}`, found.bindings), MARKS.partial);
  }

  function subscript(node: number): Value {
    const value = evaluate(tree.child(node, "object"));
    const key = evaluate(tree.child(node, "index"));
    const at = key.numbers[0];
    if (at !== undefined && value.items !== undefined && value.keys === undefined)
      return mark(value.items[at] ?? UNKNOWN, MARKS.partial);
    if (at !== undefined && value.texts.length > 0) {
      return { ...UNKNOWN, texts: value.texts.map((one) => one[at] ?? ""), marks: value.marks | MARKS.built };
    }
    if (key.texts.length > 0) return anyOf(key.texts.slice(0, 4).map((name) => memberNamed(value, name)));
    const any = elementOf({ ...value, marks: 0 });
    const members = value.names.filter((name) => rules.canStart(name)).map((name) => `${name}.?`);
    const one = members.length === 0 ? any : anyOf([any, named(...members)]);
    return mark(one, value.names.includes("process.env") ? 0 : value.marks);
  }

  function calleeOf(node: number): number {
    return tree.child(node, tree.kind(node) === "new_expression" ? "constructor" : "function");
  }

  const argumentsOf = (node: number): Arguments =>
    evaluator.remember(given, node, () => {
      const values = tree.child(node, "arguments");
      if (values === -1) return { args: [], keywords: new Map() };
      // A tagged template is a call with its text.
      if (tree.kind(values) === "template_string") return { args: [evaluate(values)], keywords: new Map() };
      const nodes = namedChildren(tree, values, MAX_ARGUMENTS + 1);
      if (nodes.length > MAX_ARGUMENTS) evaluator.giveUp();
      return withOptions(nodes.flatMap(item));
    });

  function call(node: number): Value {
    const callee = calleeOf(node);
    const found = evaluate(callee);
    const { args } = argumentsOf(node);
    const results: Value[] = [];
    for (const target of targetsOf(node)) {
      const result = resultOf(target.name, target.args);
      if (result !== undefined) results.push(result);
    }
    if (/^(?:member|subscript)_expression$/.test(tree.kind(callee)) && results.length === 0) {
      const self = evaluate(tree.child(callee, "object"));
      const property = tree.child(callee, "property");
      const index = tree.child(callee, "index");
      const method = property !== -1 ? identifierOf(tree.source(property)) : (evaluate(index).texts[0] ?? "");
      const usable = self.texts.length > 0 || self.items !== undefined || self.marks !== 0;
      const result = !usable
        ? undefined
        : method === "map"
          ? mapped(node, self)
          : METHODS.get(method)?.(self, args);
      if (result !== undefined) return mark(result, self.marks & MARKS.environment);
      if (self.items !== undefined) return mark(UNKNOWN, (self.marks | callbackMarks(args)) & ~MARKS.built);
    }
    const marks = results.length > 0 ? found.marks : found.marks | marksOf(args) | callbackMarks(args);
    return mark(anyOf(results), marks & ~MARKS.built);
  }

  /** f.call(this, a), f.apply(this, [a]) and Reflect.apply(f, this, [a]) are f(a). */
  function targetsOf(node: number): readonly CallTarget[] {
    return reached(evaluate(calleeOf(node)), argumentsOf(node));
  }

  function applied(found: Value, given: Arguments): Value {
    return anyOf(reached(found, given).map(({ name, args }) => resultOf(name, args) ?? UNKNOWN));
  }

  function reached(found: Value, { args, keywords }: Arguments): readonly CallTarget[] {
    return found.names.flatMap((name): CallTarget[] => {
      if (name === "Reflect.apply" || name === "Reflect.construct") {
        const handed = withOptions(spread(args[name === "Reflect.apply" ? 2 : 1]));
        return (args[0]?.names ?? []).map((one) => ({ name: one, ...handed }));
      }
      const [, base, way] = /^(.*)\.(call|apply)$/.exec(name) ?? [];
      if (base !== undefined)
        return [{ name: base, ...withOptions(way === "call" ? args.slice(1) : spread(args[1])) }];
      return [{ name, args, keywords }];
    });
  }

  /** What a call of this name gives. */
  function resultOf(name: string, args: readonly Value[]): Value | undefined {
    if (name === "this" || name.startsWith("?.")) return undefined;
    if (name.startsWith("<def ")) {
      const definition = Number(name.slice(5, -1));
      const results = names.returnsOf(definition).slice(0, MAX_RETURNS);
      const parameters = names.parametersOf(definition).map(parameterName);
      return evaluator.evaluateCall(parameters, args, () => oneOf(results.map(evaluate)));
    }
    if (LOADERS.has(name)) return moduleNamed(args[0]);
    if (name === "Reflect.get")
      return anyOf((args[1]?.texts ?? ["?"]).map((key) => memberNamed(args[0] ?? UNKNOWN, key)));
    if (name === "Object.getOwnPropertyDescriptor" || name === "Reflect.getOwnPropertyDescriptor")
      return mapping(
        ["value"],
        [anyOf((args[1]?.texts ?? []).map((key) => memberNamed(args[0] ?? UNKNOWN, key)))],
      );
    if (name.endsWith(".bind")) return named(name.slice(0, -5));
    const folded = FUNCTIONS.get(name)?.(args);
    if (folded !== undefined) return folded;
    const known = rules.find(name);
    // An answer is not what was sent.
    const taken = known?.sends === true ? 0 : marksOf(args);
    const own =
      known === undefined ? 0 : marksOfResult(known, { args, keywords: new Map(), receiver: UNKNOWN });
    const result = name.length < MAX_NAME ? named(`${name}()`) : UNKNOWN;
    return mark(result, (taken | own) & ~MARKS.built);
  }

  /** The name of a parameter that is nothing but a name; "": it is more. */
  function parameterName(parameter: number): string {
    const target = tree.kind(parameter) === "identifier" ? parameter : tree.child(parameter, "pattern");
    return target === -1 || tree.kind(target) !== "identifier" ? "" : identifierOf(tree.source(target));
  }

  /** [99, 104].map((c) => String.fromCharCode(c)) */
  function mapped(node: number, self: Value): Value | undefined {
    const change = namedChildren(tree, tree.child(node, "arguments"))[0] ?? -1;
    if (change === -1 || self.items === undefined || !isFunction(tree, change)) return undefined;
    const body = names.returnsOf(change)[0];
    const parameter = names.parametersOf(change)[0];
    if (body === undefined || parameter === undefined) return undefined;
    const name = parameterName(parameter);
    if (name === "") return undefined;
    return list(
      self.items.map((one) => evaluator.evaluateWith(body, name, one)),
      self.marks,
    );
  }

  return Object.assign(evaluator, { argumentsOf, calleeOf, targetsOf, reached, applied });
}

/** The keys of an options object count as keywords. */
function withOptions(args: readonly Value[]): Arguments {
  const keywords = new Map<string, Value>();
  for (const { keys, items } of args)
    keys?.forEach((key, index) => {
      keywords.set(key ?? OPEN, items![index]!);
    });
  // Behind the first argument, what is neither words nor a function may be options.
  const open = args
    .slice(1)
    .some((arg) => arg.items === undefined && arg.texts.length + arg.names.length === 0);
  if (open) keywords.set(OPEN, UNKNOWN);
  return { args, keywords };
}

function spread(list: Value | undefined): readonly Value[] {
  return list?.items ?? [UNKNOWN];
}

function moduleNamed(value: Value | undefined): Value {
  const texts = (value?.texts ?? []).filter((one) => /^[\w@:./-]{1,100}$/.test(one));
  return texts.length === 0
    ? { ...named("?module"), marks: value?.marks ?? 0 }
    : named(...texts.map(moduleNameOf));
}

/** A module whose name could not be read is any that has such a member. */
function modulesFor(member: string): (name: string) => readonly string[] {
  const starts = /^(?:exec|execSync|spawn|spawnSync|execFile|execFileSync|fork)$/.test(member);
  return (name) => (name === "?module" && starts ? ["child_process"] : [name]);
}

/** globalThis.x is x, and a module's default is the module. */
function plainName(name: string): string {
  return name.replace(/^globalThis\.(?:globalThis\.)*/, "").replace(/\.default$/, "");
}

function withEnvironment(value: Value): Value {
  const [name] = value.names;
  if (name === "process.execPath" || name === "process.argv0") return text("node", MARKS.partial);
  if (value.names.some((one) => /^<def \d+>\.constructor$|constructor\.constructor$/.test(one)))
    return named("Function.constructor");
  const marks = value.names.reduce((all, one) => all | (NAMES.get(one) ?? 0), 0);
  return marks === 0 ? value : mark(value, marks);
}

/** Names that say where a value comes from. */
const NAMES: ReadonlyMap<string, number> = new Map([
  ["process.env", MARKS.environment],
  ["process.ppid", MARKS.others],
  ["document.cookie", MARKS.secret],
  ["localStorage", MARKS.secret],
]);
