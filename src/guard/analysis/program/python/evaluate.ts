import type { WorkBudget } from "../../../../kit/parser/index.js";
import { isWholeTree } from "../../risk/path-rules.js";
import { variable } from "../environment.js";
import { createEvaluator, marksOfResult, memberOf } from "../evaluator.js";
import { type FlatTree, namedChildren, operatorOf } from "../flat-tree.js";
import type { FunctionTable } from "../known-functions.js";
import { type Arguments, OPEN } from "../process-start.js";
import type { CallTarget, ProgramEvaluator } from "../reader.js";
import {
  anyOf,
  concat,
  directoryOf,
  HOLE,
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
import { canonicalName, identifierOf, type PythonNames, reachedModule } from "./bindings.js";
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

/** Attributes that lead to what they belong to. */
const TRANSPARENT = new Set(["__dict__", "__call__", "__func__", "__wrapped__"]);
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
const PARTIAL = "<partial>";
const METHOD_CALLER = "operator.methodcaller()";
const MAX_PARTIAL = 4;
const MAX_RETURNS = 8;
const MAX_NAME = 200;
const MAX_TERMS = 512;
const MAX_ARGUMENTS = 256;

export function createPythonEvaluator(
  tree: FlatTree,
  names: PythonNames,
  rules: FunctionTable,
  work: WorkBudget,
): ProgramEvaluator {
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
      case "false":
        return number(0);
      case "none":
        return named(OFF);
      case "list":
      case "tuple":
      case "set":
      case "expression_list":
        return list(namedChildren(tree, node, MAX_ITEMS + 1).flatMap(item));
      case "dictionary":
        return dictionary(node);
      case "list_comprehension":
      case "generator_expression":
      case "set_comprehension":
      case "dictionary_comprehension":
        return comprehension(node);
      case "pair":
        return evaluate(tree.child(node, "value"));
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
        return oneOf([evaluate(yes ?? -1), evaluate(no ?? -1)]);
      }
      case "boolean_operator":
        return oneOf([evaluate(tree.child(node, "left")), evaluate(tree.child(node, "right"))]);
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
  const item = (node: number): readonly Value[] => {
    const value = evaluate(node);
    return tree.kind(node) === "list_splat" ? (value.items ?? [{ ...UNKNOWN, marks: value.marks }]) : [value];
  };

  function identifier(node: number): Value {
    const name = identifierOf(tree.source(node));
    const own = evaluator.lookUp(names.scopeOf(node), name);
    if (own === undefined) return free(name);
    // `exec = exec` and `if 0: exec = print` change nothing: at the top such a name may always be the builtin one.
    const outermost = names.scopes.find(names.scopeOf(node), name)?.scope === 0;
    return outermost && UNMISTAKABLE.has(name) ? anyOf([free(name), own]) : constant(own);
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
      // Visiting every part of a longer sum would cost the square of its length.
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
    if (object.names.includes("pathlib.Path()") && /^parents?$/.test(name)) return ancestors(object, name);
    if (name === "__self__")
      return { ...object, names: object.names.map((one) => one.replace(/^builtins\..*/, "builtins")) };
    if (object.names.length === 0) {
      const assigned = assignedTo(name);
      const leads = name.startsWith("__") || FRAMES.has(name) ? named(`?.${name}`) : UNKNOWN;
      // What a request handler reads was sent to it.
      const asked = name === "rfile" ? MARKS.network : 0;
      const module = reachedModule(name);
      const reached = module === undefined ? UNKNOWN : named(module);
      return mark(anyOf([assigned, leads, reached]), object.marks | asked);
    }
    const member = memberOf(
      { ...object, items: undefined, names: object.names.flatMap(modulesFor(name)) },
      name,
    );
    return constant(marked({ ...member, names: member.names.map(canonicalName) }));
  }

  function assignedTo(name: string): Value {
    const found = names.attributes.find(0, name);
    // Another object's attribute may have the same name.
    return found === undefined ? UNKNOWN : mark(evaluator.resolve(`.${name}`, found.bindings), MARKS.partial);
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
    // A list may have been changed through another name.
    if (at !== undefined && object.items !== undefined)
      return mark(object.items.at(at) ?? UNKNOWN, MARKS.partial);
    if (at !== undefined && object.texts.length > 0) {
      return {
        ...UNKNOWN,
        texts: object.texts.map((one) => one.at(at) ?? ""),
        marks: object.marks | MARKS.built,
      };
    }
    if (at !== undefined && object.names.some((name) => name.startsWith("?."))) return object;
    if (key.texts.length > 0)
      return mark(anyOf(key.texts.map((name) => memberOf(object, name))), MARKS.partial);
    const any = anyOf([...(object.items ?? []), unknownMember(object)]);
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
    if (values === -1) return { args, keywords };
    if (tree.kind(values) === "generator_expression") return { args: [evaluate(values)], keywords };
    const nodes = namedChildren(tree, values, MAX_ARGUMENTS + 1);
    if (nodes.length > MAX_ARGUMENTS) evaluator.giveUp();
    for (const one of nodes) {
      const kind = tree.kind(one);
      if (kind === "keyword_argument")
        keywords.set(identifierOf(tree.source(tree.child(one, "name"))), evaluate(tree.child(one, "value")));
      else if (kind === "dictionary_splat") {
        const { keys, items } = evaluate(one);
        if (keys === undefined) keywords.set(OPEN, UNKNOWN);
        keys?.forEach((key, index) => {
          keywords.set(key ?? OPEN, items![index]!);
        });
      } else args.push(...item(one));
    }
    return { args, keywords };
  }

  function call(node: number): Value {
    const callee = tree.child(node, "function");
    const found = evaluate(callee);
    const values = argumentsOf(node);
    const { args, keywords } = values;
    const results: Value[] = [];
    for (const target of targetsOf(node)) {
      const result = resultOf(target.name, node, target.args, target.keywords);
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
    const marks = callbackMarks(args) | found.marks | marksOf(args) | marksOf([...keywords.values()]);
    return mark(returned, (results.length > 0 ? found.marks : marks) & ~MARKS.built);
  }

  const calleeOf = (node: number): number => tree.child(node, "function");

  /** partial(f, a)(b) is f(a, b), and methodcaller("m", a)(o) is o.m(a). */
  function targetsOf(node: number): readonly CallTarget[] {
    return reached(evaluate(calleeOf(node)), argumentsOf(node));
  }

  /** What a value gives when it is called, by a decorator or a function that takes functions. */
  function applied(found: Value, given: Arguments, node: number): Value {
    return anyOf(
      reached(found, given).map(
        ({ name, args, keywords }) => resultOf(name, node, args, keywords) ?? UNKNOWN,
      ),
    );
  }

  function reached(found: Value, given: Arguments, depth = 0): CallTarget[] {
    const [first = UNKNOWN, ...bound] = found.items ?? [];
    return found.names.flatMap((name): CallTarget[] => {
      if (name === PARTIAL && depth < MAX_PARTIAL)
        return reached(first, { ...given, args: [...bound, ...given.args] }, depth + 1);
      if (name !== METHOD_CALLER) return [{ name, ...given }];
      const owner = given.args[0] ?? UNKNOWN;
      const members =
        first.texts.length === 0 ? [unknownMember(owner)] : first.texts.map((one) => memberOf(owner, one));
      return members
        .flatMap((member) => member.names)
        .map((one) => ({ name: one, args: bound, keywords: given.keywords }));
    });
  }

  function memberNamed(owner: Value, name: string): Value {
    const member = memberOf(owner, name);
    return marked({ ...member, names: member.names.map(canonicalName) });
  }

  /** A member by a name that is known only when it runs; of modules that matter. */
  function unknownMember(owner: Value): Value {
    const members = owner.names.filter((name) => rules.canStart(name)).map((name) => `${name}.?`);
    return members.length === 0 ? UNKNOWN : named(...members);
  }

  function memberBy(owner: Value, key: Value): Value {
    const members = key.texts.map((one) => memberNamed(owner, one));
    return anyOf(
      key.texts.length === 0 || key.texts.some((one) => one.includes(HOLE))
        ? [...members, unknownMember(owner)]
        : members,
    );
  }

  /** What a call of this name gives. */
  function resultOf(
    name: string,
    node: number,
    args: readonly Value[],
    keywords: ReadonlyMap<string, Value>,
  ): Value | undefined {
    if (name.endsWith(".__getattribute__")) {
      // The class's own is given the object too.
      if (args.length > 1) return memberBy(args[0]!, args[1]!);
      return memberBy(named(name.slice(0, -".__getattribute__".length)), args[0] ?? UNKNOWN);
    }
    if (name.startsWith("<def ")) return returned(Number(name.slice(5, -1)), args);
    switch (name) {
      case "builtins.getattr":
      case "inspect.getattr_static":
        return memberBy(args[0] ?? UNKNOWN, args[1] ?? UNKNOWN);
      case "functools.partial":
      case "functools.partialmethod":
        return { ...named(PARTIAL), items: args, marks: marksOf(args) };
      case "operator.attrgetter":
      case "operator.itemgetter":
      case "operator.methodcaller":
        return { ...named(`${name}()`), items: args, marks: marksOf(args) };
      case "operator.attrgetter()":
      case "operator.itemgetter()": {
        const keys = evaluate(tree.child(node, "function")).items?.[0] ?? UNKNOWN;
        const owner = args[0] ?? UNKNOWN;
        const paths = keys.texts.map((path) => path.split(".").reduce(memberNamed, owner));
        return anyOf(paths.length === 0 ? [unknownMember(owner)] : paths);
      }
      case "functools.reduce":
        // reduce(getattr, ["a", "b"], x) is x.a.b
        if (
          args[0]?.names.includes("builtins.getattr") &&
          args[1]?.items !== undefined &&
          args[2] !== undefined
        )
          return args[1].items.slice(0, MAX_RETURNS).reduce(memberBy, args[2]);
        break;
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
    const known = rules.find(name);
    // An answer is not what was sent.
    const taken = known?.sends === true ? 0 : marksOf(args) | marksOf([...keywords.values()]);
    const callee = tree.child(node, "function");
    const object = tree.kind(callee) === "attribute" ? tree.child(callee, "object") : -1;
    const own =
      known === undefined ? 0 : marksOfResult(known, { args, keywords, receiver: evaluate(object) });
    const marks = taken | own;
    const result = name.length < MAX_NAME ? named(`${name}()`) : UNKNOWN;
    return mark(result, marks & ~MARKS.built);
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

  function returned(definition: number, args: readonly Value[]): Value {
    const results = names.returnsOf(definition).slice(0, MAX_RETURNS);
    return evaluator.evaluateCall(names.parametersOf(definition), args, () => oneOf(results.map(evaluate)));
  }

  return Object.assign(evaluator, { argumentsOf, calleeOf, targetsOf, reached, applied });
}

/** Names of other modules that stand for one value. */
const CONSTANTS: ReadonlyMap<string, Value> = new Map([
  ["sys.executable", text("python3", MARKS.partial)],
  ["stat.S_ISUID", number(0o4000)],
  ["stat.S_ISGID", number(0o2000)],
  ["os.O_RDONLY", text("r")],
  ["site.USER_SITE", text("/usr/lib/python3/site-packages")],
  ["site.PREFIXES", text("/usr")],
]);

function constant(value: Value): Value {
  return (value.names.length === 1 && CONSTANTS.get(value.names[0]!)) || value;
}

/** The directories above a path, or the nearest of them. */
function ancestors(path: Value, name: string): Value {
  const above: Value[] = [];
  for (let one = path; above.length < 4; above.push(one)) one = { ...one, texts: one.texts.map(directoryOf) };
  return name === "parent" ? above[0]! : list(above);
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
