import type { WorkBudget } from "../../../../kit/parser/index.js";
import { variable } from "../environment.js";
import { memberOf } from "../evaluator.js";
import { type FlatTree, namedChildren } from "../flat-tree.js";
import { itemAt, negated } from "../folding.js";
import type { FunctionTable } from "../known-functions.js";
import { type Arguments, OPEN } from "../process-start.js";
import { type EvaluatedSyntax, MAX_ARGUMENTS } from "../program-evaluator.js";
import {
  anyOf,
  certainText,
  concat,
  isCertainNumber,
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
import { GIVEN, PythonCalls } from "./calls.js";
import { itemsOf, METHODS, moduleNamed, operated, reversed } from "./folding.js";
import { integerValue, stringValue } from "./literals.js";
import { ancestors, constant, marked, modulesFor } from "./origins.js";
import { BUILTINS, KNOWN_MODULES, NAMESPACES } from "./rules.js";

/** Attributes that lead to what they belong to. */
const TRANSPARENT = new Set(["__dict__", "__call__", "__func__", "__wrapped__"]);
/** Attributes of any object that lead out of it. */
const FRAMES = new Set(["f_globals", "f_builtins", "f_back", "f_locals", "gi_frame", "cr_frame", "tb_frame"]);
const SYNTAX: EvaluatedSyntax = {
  operation: "binary_operator",
  spread: "list_splat",
  unmistakable: new Set("exec eval compile open getattr globals __import__ __builtins__".split(" ")),
  identifierOf,
};
/** Builtins that no rule knows. */
const HARMLESS_BUILTINS =
  /^(?:len|float|bool|set|frozenset|abs|round|pow|divmod|hash|hex|oct|bin|format|ascii|slice|super|property|complex|exit|quit|aiter|anext|unicode|xrange|raw_input|display|[A-Z]\w*(?:Error|Exception|Warning|Iteration|Exit|Interrupt|Group)|__\w+__)$/;

export class PythonEvaluator extends PythonCalls {
  private readonly runsText = /\bexec\b|builtins/.test(this.tree.text.normalize("NFKC"));

  constructor(tree: FlatTree, names: PythonNames, rules: FunctionTable, work: WorkBudget) {
    super(tree, names, rules, SYNTAX, work);
  }

  protected fold(node: number): Value {
    switch (this.tree.kind(node)) {
      case "identifier":
        return this.identifier(node);
      case "string":
        return stringValue(this.tree, node, (one) => this.evaluate(one));
      case "concatenated_string":
        return this.concatenated(namedChildren(this.tree, node));
      case "integer":
        return integerValue(this.tree.source(node));
      case "float":
        return number(Number(this.tree.source(node).replaceAll("_", "")));
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
        return list(namedChildren(this.tree, node, MAX_ITEMS + 1).flatMap((one) => this.item(one)));
      case "dictionary":
        return this.dictionary(node);
      case "list_comprehension":
      case "generator_expression":
      case "set_comprehension":
      case "dictionary_comprehension":
        return this.comprehension(node);
      case "pair":
        return this.evaluate(this.tree.child(node, "value"));
      case "binary_operator":
        return this.binary(node);
      case "unary_operator":
        return this.unary(node);
      case "parenthesized_expression":
      case "await":
      case "list_splat":
      case "dictionary_splat":
      case "keyword_argument":
      case "as_pattern":
      case "type":
      case "interpolation":
        return this.inner(node);
      case "conditional_expression": {
        const [yes, , no] = namedChildren(this.tree, node);
        return oneOf([this.evaluate(yes ?? -1), this.evaluate(no ?? -1)]);
      }
      case "boolean_operator":
        return oneOf([
          this.evaluate(this.tree.child(node, "left")),
          this.evaluate(this.tree.child(node, "right")),
        ]);
      case "named_expression":
        return this.evaluate(this.tree.child(node, "value"));
      case "lambda":
        return this.definition(node);
      case "attribute":
        return this.attribute(node);
      case "subscript":
        return this.subscript(node);
      case "call":
        return this.call(node);
      default:
        return UNKNOWN;
    }
  }

  protected marked(value: Value): Value {
    return constant(value);
  }

  protected operated(operator: string, left: Value, right: Value): Value {
    return operated(operator, left, right);
  }

  protected parametersOf(definition: number): readonly string[] {
    return this.program.parametersOf(definition);
  }

  protected definition(node: number): Value {
    return this.tree.kind(node) === "class_definition" ? UNKNOWN : named(`<def ${node}>`);
  }

  private inner(node: number): Value {
    const value = this.tree.child(node, "value");
    return this.evaluate(value !== -1 ? value : (namedChildren(this.tree, node)[0] ?? -1));
  }

  /** A name that the program does not give a value to. */
  protected free(name: string): Value {
    if (name === "__builtins__") return named("builtins");
    if (name === "__file__") return text("./program.py");
    const candidates = this.program.stars
      .map((module) => `${module}.${name}`)
      .filter((one) => this.rules.find(one));
    if (BUILTINS.has(name)) candidates.push(`builtins.${name}`);
    const module = KNOWN_MODULES.get(name);
    if (module !== undefined) candidates.push(module);
    // exec("from os import system as s") gives names that stand nowhere else.
    if (candidates.length === 0 && this.runsText && !HARMLESS_BUILTINS.test(name))
      candidates.push(`builtins.exec().${name}`);
    return candidates.length === 0 ? UNKNOWN : named(...candidates);
  }

  private concatenated(parts: readonly number[]): Value {
    return parts
      .map((one) => this.evaluate(one))
      .reduce((sum, part) => ({ ...concat(sum, part), marks: sum.marks | part.marks }));
  }

  private dictionary(node: number): Value {
    const keys: (string | undefined)[] = [];
    const items: Value[] = [];
    for (const one of namedChildren(this.tree, node, MAX_ITEMS + 1)) {
      keys.push(
        this.tree.kind(one) === "pair" ? certainText(this.evaluate(this.tree.child(one, "key"))) : undefined,
      );
      items.push(
        this.tree.kind(one) === "pair" ? this.evaluate(this.tree.child(one, "value")) : this.evaluate(one),
      );
    }
    return mapping(keys, items);
  }

  private comprehension(node: number): Value {
    const body = this.tree.child(node, "body");
    const clauses = namedChildren(this.tree, node).filter((one) => this.tree.kind(one) === "for_in_clause");
    const target = this.tree.child(clauses[0] ?? -1, "left");
    const source = this.evaluate(this.tree.child(clauses[0] ?? -1, "right"));
    const items = itemsOf(source);
    if (clauses.length !== 1 || items === undefined || this.tree.kind(target) !== "identifier") {
      return { ...list([this.evaluate(body)]), marks: this.evaluate(body).marks | source.marks };
    }
    const name = identifierOf(this.tree.source(target));
    return list(
      items.map((one) => this.evaluateWith(body, name, one)),
      source.marks,
    );
  }

  private unary(node: number): Value {
    const value = this.evaluate(this.tree.child(node, "argument"));
    return this.tree.source(node).startsWith("-") ? negated(value) : UNKNOWN;
  }

  private attribute(node: number): Value {
    const object = this.evaluate(this.tree.child(node, "object"));
    const name = identifierOf(this.tree.source(this.tree.child(node, "attribute")));
    if (TRANSPARENT.has(name)) return object;
    if (object.names.includes("pathlib.Path()") && /^parents?$/.test(name)) return ancestors(object, name);
    if (name === "__self__")
      return { ...object, names: object.names.map((one) => one.replace(/^builtins\..*/, "builtins")) };
    if (object.names.every((one) => one.endsWith(".parse_args()"))) {
      const assigned = this.assignedTo(name);
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

  private subscript(node: number): Value {
    const object = this.evaluate(this.tree.child(node, "value"));
    const index = this.tree.child(node, "subscript");
    if (index === -1) return UNKNOWN;
    if (this.tree.kind(index) === "slice") return this.sliced(object, index);
    const key = this.evaluate(index);
    if (object.names.includes("os.environ")) return anyOf(key.texts.map(variable));
    if (object.names.some((name) => NAMESPACES.test(name)))
      return key.texts.length === 0 ? named(GIVEN) : anyOf(key.texts.map((name) => this.nameAt(node, name)));
    if (object.names.includes("sys.modules")) return moduleNamed(key);
    const at = key.numbers[0];
    const { items } = object;
    // A list may have been changed through another name.
    if (at !== undefined && items !== undefined)
      return mark(anyOf(key.numbers.map((place) => items.at(place) ?? UNKNOWN)), MARKS.partial);
    const letter = itemAt(object, key, (all, place) => all.at(place));
    if (letter !== undefined) return letter;
    if (at !== undefined && object.names.some((name) => name.startsWith("?."))) return object;
    if (key.texts.length > 0)
      return mark(anyOf(key.texts.map((name) => memberOf(object, name))), MARKS.partial);
    const any = anyOf([...(object.items ?? []), this.unknownMember(object)]);
    return mark(any, object.marks);
  }

  private nameAt(node: number, name: string): Value {
    if (name === "__builtins__") return named("builtins");
    return this.lookUp(this.program.scopeOf(node), name) ?? this.free(name);
  }

  private sliced(object: Value, slice: number): Value {
    const places: (Value | undefined)[] = [undefined];
    for (let at = this.tree.first(slice); at !== -1; at = this.tree.next(at)) {
      if (this.tree.kind(at) === ":") places.push(undefined);
      else if (this.tree.isNamed(at)) places[places.length - 1] = this.evaluate(at);
    }
    const [from, to, step] = places.map((value) => value?.numbers[0]);
    const several = places.some((value) => value !== undefined && !isCertainNumber(value));
    const backwards = (step ?? 1) < 0 && (from ?? to) !== undefined;
    if (several || backwards) return { ...UNKNOWN, marks: object.marks | MARKS.partial };
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

  protected foldArguments(node: number): Arguments {
    const args: Value[] = [];
    const keywords = new Map<string, Value>();
    const values = this.tree.child(node, "arguments");
    if (values === -1) return { args, keywords };
    if (this.tree.kind(values) === "generator_expression") return { args: [this.evaluate(values)], keywords };
    const nodes = namedChildren(this.tree, values, MAX_ARGUMENTS + 1);
    if (nodes.length > MAX_ARGUMENTS) this.giveUp();
    for (const one of nodes) {
      const kind = this.tree.kind(one);
      if (kind === "keyword_argument")
        keywords.set(
          identifierOf(this.tree.source(this.tree.child(one, "name"))),
          this.evaluate(this.tree.child(one, "value")),
        );
      else if (kind === "dictionary_splat") {
        const { keys, items, marks } = this.evaluate(one);
        if (keys === undefined || (marks & (MARKS.partial | MARKS.longer)) !== 0) keywords.set(OPEN, UNKNOWN);
        keys?.forEach((key, index) => {
          keywords.set(key ?? OPEN, items![index]!);
        });
      } else args.push(...this.item(one));
    }
    return { args, keywords };
  }

  private call(node: number): Value {
    const callee = this.tree.child(node, "function");
    const found = this.evaluate(callee);
    const { args, keywords } = this.argumentsOf(node);
    const results = this.resultsOf(node);
    if (results.length === 0 && this.tree.kind(callee) === "attribute") {
      const self = this.evaluate(this.tree.child(callee, "object"));
      const method = METHODS.get(identifierOf(this.tree.source(this.tree.child(callee, "attribute"))));
      const usable = self.texts.length > 0 || self.items !== undefined || self.marks !== 0;
      const result = usable ? method?.(self, args, keywords) : undefined;
      if (result !== undefined) return mark(result, self.marks & MARKS.environment);
    }
    const returned = anyOf(results);
    const marks = this.callbackMarks(args) | found.marks | marksOf(args) | marksOf([...keywords.values()]);
    return mark(returned, (results.length > 0 ? found.marks : marks) & ~MARKS.built);
  }
}
