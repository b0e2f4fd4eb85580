import type { WorkBudget } from "../../../../kit/parser/index.js";
import { variable } from "../environment.js";
import { withoutEscapes } from "../escapes.js";
import { elementOf, marksOfResult, memberOf } from "../evaluator.js";
import { type FlatTree, namedChildren } from "../flat-tree.js";
import { itemAt, negated, written } from "../folding.js";
import type { FunctionTable } from "../known-functions.js";
import { type Arguments, OPEN } from "../process-start.js";
import {
  type CallTarget,
  type EvaluatedSyntax,
  MAX_ARGUMENTS,
  MAX_NAME,
  ProgramEvaluator,
} from "../program-evaluator.js";
import {
  anyOf,
  certainText,
  combined,
  joined,
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

const SYNTAX: EvaluatedSyntax = {
  operation: "binary_expression",
  spread: "spread_element",
  unmistakable: new Set("eval Function require process module global globalThis".split(" ")),
  identifierOf,
};

export class JavaScriptEvaluator extends ProgramEvaluator<JavaScriptNames> {
  constructor(tree: FlatTree, names: JavaScriptNames, rules: FunctionTable, work: WorkBudget) {
    super(tree, names, rules, SYNTAX, work);
  }

  protected fold(node: number): Value {
    const kind = this.tree.kind(node);
    if (WRAPPERS.has(kind)) return this.evaluate(namedChildren(this.tree, node)[0] ?? -1);
    if (isFunction(this.tree, node)) return named(`<def ${node}>`);
    switch (kind) {
      case "identifier":
      case "shorthand_property_identifier":
        return this.identifier(node);
      case "this":
        return named("this");
      case "import":
        return named("import");
      case "string":
      case "template_string":
        return this.string(node);
      case "number":
        return numberOf(this.tree.source(node).replaceAll("_", "").replace(/n$/, ""));
      case "true":
        return number(1);
      case "false":
        return number(0);
      case "null":
      case "undefined":
        return named(OFF);
      case "array":
        return list(namedChildren(this.tree, node, MAX_ITEMS + 1).flatMap((one) => this.item(one)));
      case "object":
        return this.object(node);
      case "binary_expression":
        return this.binary(node);
      case "unary_expression":
        return this.unary(node);
      case "ternary_expression":
        return oneOf([
          this.evaluate(this.tree.child(node, "consequence")),
          this.evaluate(this.tree.child(node, "alternative")),
        ]);
      case "assignment_expression":
      case "augmented_assignment_expression":
        return this.evaluate(this.tree.child(node, "right"));
      case "type_assertion":
      case "sequence_expression":
        return this.evaluate(namedChildren(this.tree, node).at(-1) ?? -1);
      case "member_expression":
        return this.member(node);
      case "subscript_expression":
        return this.subscript(node);
      case "call_expression":
      case "new_expression":
        return this.call(node);
      default:
        return UNKNOWN;
    }
  }

  /** A name that the program does not give a value to. */
  protected free(name: string): Value {
    if (name === "__dirname") return text(".");
    if (name === "__filename") return text("./program.js");
    return withEnvironment(this.global(name));
  }

  private global(name: string): Value {
    if (name === "global" || name === "window" || name === "self" || name === "globalThis")
      return named("globalThis");
    return GLOBALS.has(name) ? named(name) : UNKNOWN;
  }

  private string(node: number): Value {
    const parts: Value[] = [];
    let marks = 0;
    let spelt = 0;
    for (let at = this.tree.first(node); at !== -1; at = this.tree.next(at)) {
      switch (this.tree.kind(at)) {
        case "string_fragment":
          parts.push(text(this.tree.source(at)));
          break;
        case "escape_sequence": {
          const letter = withoutEscapes(this.tree.source(at), true).text;
          if (/^[\w/]$/.test(letter)) spelt++;
          parts.push(text(letter));
          break;
        }
        case "template_substitution": {
          // An unknown part is a hole; what is known is put in.
          const value = this.evaluate(namedChildren(this.tree, at)[0] ?? -1);
          marks |= value.marks | (value.texts.length + value.numbers.length > 0 ? MARKS.built : 0);
          parts.push(written(value));
          break;
        }
      }
    }
    const whole = joined(parts, "");
    return { ...whole, marks: (whole.marks & ~MARKS.built) | marks | (spelt >= 2 ? MARKS.decoded : 0) };
  }

  private object(node: number): Value {
    const keys: (string | undefined)[] = [];
    const items: Value[] = [];
    for (const one of namedChildren(this.tree, node, MAX_ITEMS + 1)) {
      switch (this.tree.kind(one)) {
        case "pair": {
          const key = this.tree.child(one, "key");
          const computed = this.tree.kind(key) === "computed_property_name";
          keys.push(
            computed
              ? certainText(this.evaluate(namedChildren(this.tree, key)[0] ?? -1))
              : keyOf(this.tree, key),
          );
          items.push(this.evaluate(this.tree.child(one, "value")));
          break;
        }
        case "shorthand_property_identifier":
          keys.push(identifierOf(this.tree.source(one)));
          items.push(this.evaluate(one));
          break;
        case "method_definition":
          keys.push(keyOf(this.tree, this.tree.child(one, "name")));
          items.push(
            /^get\s/.test(this.tree.source(one)) ? this.returned(`<def ${one}>`, []) : this.evaluate(one),
          );
          break;
        default:
          keys.push(undefined);
          items.push(this.evaluate(one));
      }
    }
    return mapping(keys, items);
  }

  private unary(node: number): Value {
    const value = this.evaluate(this.tree.child(node, "argument"));
    const source = this.tree.source(node);
    if (source.startsWith("!"))
      return value.numbers.length > 0
        ? combined([{ ...value, texts: [] }], (one) => (one === 0 ? 1 : 0))
        : UNKNOWN;
    if (source.startsWith("+")) return value;
    if (!source.startsWith("-")) return UNKNOWN;
    return mark(negated(value), value.marks);
  }

  private member(node: number): Value {
    const value = this.evaluate(this.tree.child(node, "object"));
    return this.memberNamed(value, identifierOf(this.tree.source(this.tree.child(node, "property"))));
  }

  protected override partOf(value: Value, name: string): Value {
    // A key that is known only when it runs may be this one; of a function that matters.
    const hidden = name === "?" && value.names.some((one) => one.startsWith("<def "));
    if (name === "constructor" || hidden) return this.memberNamed(value, "constructor");
    const found = memberOf({ ...value, names: value.names.flatMap(modulesFor(name)) }, name);
    return { ...found, names: found.names.map(plainName) };
  }

  private memberNamed(value: Value, name: string): Value {
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
      return mark(anyOf([this.assignedTo(name), leads, part]), value.items === undefined ? value.marks : 0);
    }
    const found = memberOf({ ...value, names: own.flatMap(modulesFor(name)) }, name);
    return withEnvironment({ ...found, names: found.names.map(plainName) });
  }

  private subscript(node: number): Value {
    const value = this.evaluate(this.tree.child(node, "object"));
    const key = this.evaluate(this.tree.child(node, "index"));
    const { items } = value;
    if (key.numbers.length > 0 && items !== undefined && value.keys === undefined)
      return mark(anyOf(key.numbers.map((at) => items[at] ?? UNKNOWN)), MARKS.partial);
    const letter = itemAt(value, key, (all, place) => all[place]);
    if (letter !== undefined) return letter;
    if (key.texts.length > 0) {
      const known = key.texts.map((name) => this.memberNamed(value, name));
      return anyOf((key.marks & MARKS.partial) === 0 ? known : [...known, this.unknownMember(value)]);
    }
    // A function's members lead to what makes functions.
    if (value.names.some((name) => name.startsWith("<def "))) return named("Function.?");
    const any = elementOf({ ...value, marks: 0 });
    const one = anyOf([any, this.unknownMember(value)]);
    return mark(one, value.names.includes("process.env") ? 0 : value.marks);
  }

  calleeOf(node: number): number {
    return this.tree.child(node, this.tree.kind(node) === "new_expression" ? "constructor" : "function");
  }

  private call(node: number): Value {
    const callee = this.calleeOf(node);
    const found = this.evaluate(callee);
    const { args } = this.argumentsOf(node);
    const results = this.resultsOf(node);
    if (/^(?:member|subscript)_expression$/.test(this.tree.kind(callee)) && results.length === 0) {
      const self = this.evaluate(this.tree.child(callee, "object"));
      const property = this.tree.child(callee, "property");
      const index = this.tree.child(callee, "index");
      const method =
        property !== -1
          ? identifierOf(this.tree.source(property))
          : (certainText(this.evaluate(index)) ?? "");
      const usable = self.texts.length > 0 || self.items !== undefined || self.marks !== 0;
      const result = !usable
        ? undefined
        : method === "map"
          ? this.mapped(node, self)
          : METHODS.get(method)?.(self, args);
      if (result !== undefined) return mark(result, self.marks & MARKS.environment);
      if (self.items !== undefined)
        return mark(UNKNOWN, (self.marks | this.callbackMarks(args)) & ~MARKS.built);
    }
    const marks = results.length > 0 ? found.marks : found.marks | marksOf(args) | this.callbackMarks(args);
    return mark(anyOf(results), marks & ~MARKS.built);
  }

  reached(found: Value, { args, keywords }: Arguments): readonly CallTarget[] {
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
  protected resultOf(name: string, _node: number, args: readonly Value[]): Value | undefined {
    const makes =
      name.startsWith("?.constructor()") ||
      (name === "?.constructor" && (args.at(-1)?.texts.length ?? 0) > 0);
    if (name === "this" || (name.startsWith("?.") && !makes)) return undefined;
    if (name.startsWith("<def ")) return this.returned(name, args);
    if (LOADERS.has(name)) return moduleNamed(args[0]);
    if (name === "Reflect.get")
      return anyOf((args[1]?.texts ?? ["?"]).map((key) => this.memberNamed(args[0] ?? UNKNOWN, key)));
    if (name === "Object.getOwnPropertyDescriptor" || name === "Reflect.getOwnPropertyDescriptor")
      return mapping(
        ["value"],
        [anyOf((args[1]?.texts ?? []).map((key) => this.memberNamed(args[0] ?? UNKNOWN, key)))],
      );
    if (name === "Object.entries" || name === "Object.values") {
      const any = this.unknownMember(args[0] ?? UNKNOWN);
      if (any.names.length > 0) return list([any]);
    }
    if (name.endsWith(".bind")) return named(name.slice(0, -5));
    const folded = FUNCTIONS.get(name)?.(args);
    if (folded !== undefined) return folded;
    const known = this.rules.find(name);
    // An answer is not what was sent.
    const taken = known?.sends === true ? 0 : marksOf(args);
    const own =
      known === undefined ? 0 : marksOfResult(known, { args, keywords: new Map(), receiver: UNKNOWN });
    const result = name.length < MAX_NAME ? named(`${name}()`) : UNKNOWN;
    return mark(result, (taken | own) & ~MARKS.built);
  }

  protected parametersOf(definition: number): readonly string[] {
    return this.program.parametersOf(definition).map((one) => this.parameterName(one));
  }

  protected marked(value: Value): Value {
    return withEnvironment(value);
  }

  protected definition(node: number): Value {
    return named(`<def ${node}>`);
  }

  protected operated(operator: string, left: Value, right: Value): Value {
    const either = operator === "||" || operator === "??" || operator === "&&";
    return either ? oneOf([left, right]) : operated(operator, left, right);
  }

  protected foldArguments(node: number): Arguments {
    const values = this.tree.child(node, "arguments");
    if (values === -1) return { args: [], keywords: new Map() };
    // A tagged template is a call with its text.
    if (this.tree.kind(values) === "template_string")
      return { args: [this.evaluate(values)], keywords: new Map() };
    const nodes = namedChildren(this.tree, values, MAX_ARGUMENTS + 1);
    if (nodes.length > MAX_ARGUMENTS) this.giveUp();
    const { args, keywords } = withOptions(nodes.flatMap((one) => this.item(one)));
    if (!args.some(({ keys }) => keys !== undefined)) return { args, keywords };
    // An option may also be put into its object later.
    const later = OPTIONS.filter((key) => this.program.members.find(0, key) !== undefined);
    const added = later.map(
      (key) => [key, anyOf([keywords.get(key) ?? UNKNOWN, this.assignedTo(key)])] as const,
    );
    return { args, keywords: new Map([...keywords, ...added]) };
  }

  /** The name of a parameter that is nothing but a name; "": it is more. */
  private parameterName(parameter: number): string {
    const target =
      this.tree.kind(parameter) === "identifier" ? parameter : this.tree.child(parameter, "pattern");
    return target === -1 || this.tree.kind(target) !== "identifier"
      ? ""
      : identifierOf(this.tree.source(target));
  }

  /** [99, 104].map((c) => String.fromCharCode(c)) */
  private mapped(node: number, self: Value): Value | undefined {
    const change = namedChildren(this.tree, this.tree.child(node, "arguments"))[0] ?? -1;
    if (change === -1 || self.items === undefined) return undefined;
    const found = this.evaluate(change);
    if (!isFunction(this.tree, change))
      return found.names.length === 0
        ? undefined
        : list(self.items.map((one) => this.applied(found, { args: [one], keywords: new Map() }, node)));
    const body = this.program.returnsOf(change)[0];
    const parameter = this.program.parametersOf(change)[0];
    // Another parameter is the place in the list.
    if (body === undefined || parameter === undefined || this.program.parametersOf(change).length > 1)
      return undefined;
    const name = this.parameterName(parameter);
    if (name === "" || this.program.isReassigned(name)) return undefined;
    return list(
      self.items.map((one) => this.evaluateWith(body, name, one)),
      self.marks,
    );
  }
}

/** A number as it is written; with a leading zero it may be an octal one. */
function numberOf(source: string): Value {
  return number(Number(/^0[0-7]+$/.test(source) ? `0o${source.slice(1)}` : source));
}

/** Options that say what runs. */
const OPTIONS = ["shell", "eval", "execPath", "execArgv", "env", "args", "file"] as const;

/** The keys of an options object count as keywords. */
function withOptions(args: readonly Value[]): Arguments {
  const keywords = new Map<string, Value>();
  for (const { keys, items, marks } of args) {
    keys?.forEach((key, index) => {
      keywords.set(key ?? OPEN, items![index]!);
    });
    if (keys !== undefined && (marks & (MARKS.partial | MARKS.longer)) !== 0) keywords.set(OPEN, UNKNOWN);
  }
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
  return name.replace(/^globalThis\.(?:globalThis\.)*/, "").replace(/\.default(?=\.|$)/g, "");
}

function withEnvironment(value: Value): Value {
  const [name] = value.names;
  if (name === undefined) return value;
  if (name === "process.argv")
    return list([text("node", MARKS.partial), text("./program.js", MARKS.partial)], UNSURE);
  if (name === "process.execPath" || name === "process.argv0") return text("node", MARKS.partial);
  if (value.names.some((one) => /^<def \d+>\.constructor$|constructor\.constructor$/.test(one)))
    return named("Function.constructor");
  const marks = value.names.reduce((all, one) => all | (NAMES.get(one) ?? 0), 0);
  return marks === 0 ? value : mark(value, marks);
}

const UNSURE = MARKS.partial | MARKS.longer;

/** Names that say where a value comes from. */
const NAMES: ReadonlyMap<string, number> = new Map([
  ["process.env", MARKS.environment],
  ["process.ppid", MARKS.others],
  ["document.cookie", MARKS.secret],
  ["localStorage", MARKS.secret],
]);
