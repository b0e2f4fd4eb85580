import { withoutEscapes } from "../escapes.js";
import { type FlatTree, namedChildren } from "../flat-tree.js";
import { type How, MAX_PATTERN_DEPTH, NameCollector, NOTHING, push } from "../name-collector.js";
import type { ProgramNames } from "../program-evaluator.js";
import { identifierOf, moduleNameOf } from "./names.js";

/** What a JavaScript or TypeScript program gives names to, collected before anything is looked up. */
export interface JavaScriptNames extends ProgramNames {
  /** Somewhere a name that is spelt so is given another value. */
  isReassigned(name: string): boolean;
  parametersOf(definition: number): readonly number[];
}

/** Kinds of nodes that are functions. */
export const FUNCTIONS: ReadonlySet<string> = new Set([
  ...["function_declaration", "function_expression", "arrow_function", "method_definition"],
  ...["generator_function", "generator_function_declaration"],
]);
const FILLERS = new Set(
  "push unshift set add append write concat splice fill reverse sort shift pop copyWithin".split(" "),
);
const MAX_CHAINED = 64;
const MAX_THROWN = 8;
/** Functions that do not change what they are given, and whose result is followed. */
const KEEPS =
  /^(?:log|info|debug|warn|error|dir|table|stringify|exec|execSync|execFile|execFileSync|spawn|spawnSync|fork|execa\w*|isArray|from|keys|values|entries|join|concat|includes|indexOf|forEach|map|filter|some|every|String|Number|Boolean|require|promisify|then|deepEqual|deepStrictEqual|equal|strictEqual|Set|write\w*|end|fetch|Worker|Function|eval|push|resolve|freeze)$/;
/** What the outermost names belong to. */
const GLOBAL_OBJECT = /^(?:globalThis|global|window|self)$/;

export function isFunction(tree: FlatTree, node: number): boolean {
  return FUNCTIONS.has(tree.kind(node));
}

/** Collects the names of a JavaScript or TypeScript program. */
export function collectNames(tree: FlatTree): JavaScriptNames {
  return new JavaScriptNameCollector(tree).collect();
}

class JavaScriptNameCollector extends NameCollector implements JavaScriptNames {
  private readonly parameters = new Map<number, readonly number[]>();
  private readonly assignments: number[] = [];
  private readonly handlers: { object: number; handler: number }[] = [];
  private readonly thrown: number[] = [];
  private readonly reassigned = new Set<string>();

  isReassigned(name: string): boolean {
    return this.reassigned.has(name);
  }

  private readonly caught: { scope: number; parameter: number }[] = [];

  protected name(node: number): string {
    return identifierOf(this.tree.source(node));
  }

  parametersOf(definition: number): readonly number[] {
    return this.parameters.get(definition) ?? [];
  }

  protected finish(): void {
    for (const assignment of this.assignments) this.assign(assignment);
    // What is caught is anything that is thrown, or nothing that is seen here.
    for (const { scope, parameter } of this.caught)
      for (const node of [-1, ...this.thrown.slice(0, MAX_THROWN)])
        this.bind(scope, parameter, node, "value");
    for (const call of this.calls) this.listen(call);
    for (const call of this.calls) this.handOver(call);
    for (const { object, handler } of this.handlers)
      for (const parameter of this.parametersOf(handler))
        this.bind(this.inner.get(handler)!, parameter, object, "value");
  }

  protected visit(node: number, kind: string): void {
    const { tree, scope } = this;
    if (FUNCTIONS.has(kind)) return this.define(node, kind);
    switch (kind) {
      case "return_statement":
      case "yield_expression":
        this.giveBack(namedChildren(tree, node)[0]);
        break;
      case "import_statement":
        this.importNames(node, scope);
        break;
      case "variable_declarator":
        this.declareVariable(node);
        break;
      case "assignment_expression":
      case "augmented_assignment_expression":
        this.assignments.push(node);
        break;
      case "public_field_definition":
      case "field_definition": {
        const title = tree.child(node, tree.child(node, "name") === -1 ? "property" : "name");
        const value = tree.child(node, "value");
        if (title === -1 || value === -1) break;
        this.members.bind(0, this.name(title), { how: "value", node: value });
        if (FUNCTIONS.has(tree.kind(value))) push(this.functions, this.name(title), value);
        break;
      }
      case "pair": {
        const value = tree.child(node, "value");
        if (value !== -1 && FUNCTIONS.has(tree.kind(value)))
          push(this.functions, keyOf(tree, tree.child(node, "key")), value);
        break;
      }
      case "enum_assignment":
        this.members.bind(0, this.name(tree.child(node, "name")), {
          how: "value",
          node: tree.child(node, "value"),
        });
        break;
      case "for_in_statement":
        this.bind(scope, tree.child(node, "left"), tree.child(node, "right"), "element");
        break;
      case "call_expression":
      case "new_expression":
        this.calls.push(node);
        break;
      case "class_declaration":
        this.declare(scope, tree.child(node, "name"));
        break;
      case "throw_statement":
        this.thrown.push(namedChildren(tree, node)[0] ?? -1);
        break;
      case "catch_clause":
        this.caught.push({ scope, parameter: tree.child(node, "parameter") });
        break;
    }
  }

  private define(node: number, kind: string): void {
    const { tree } = this;
    const title = tree.child(node, "name");
    if (title !== -1) {
      if (kind.endsWith("declaration"))
        this.scopes.bind(this.scope, this.name(title), { how: "function", node });
      push(
        this.functions,
        kind === "method_definition" ? this.calledAs(node, title) : this.name(title),
        node,
      );
    }
    this.enter(node);
    const single = tree.child(node, "parameter");
    const all = single !== -1 ? [single] : this.parameterNodes(tree.child(node, "parameters"));
    this.parameters.set(node, all);
    for (const one of all) this.declare(this.scope, one);
    const body = tree.child(node, "body");
    if (body !== -1 && tree.kind(body) !== "statement_block") this.giveBack(body, node);
  }

  private declareVariable(node: number): void {
    const { tree, scope } = this;
    const target = tree.child(node, "name");
    const value = this.valueAtEnd(tree.child(node, "value"), "assignment_expression");
    if (value === -1) {
      // At the top, a name without a value is still what it was: var require; declare const process.
      const above = tree.kind(tree.parent(tree.parent(node)));
      if (scope !== 0 && above !== "for_in_statement") this.declare(scope, target);
      return;
    }
    this.bind(scope, target, value, "value");
    // What a namespace exports is its member.
    if (
      tree.kind(target) === "identifier" &&
      tree.kind(tree.parent(tree.parent(node))) === "export_statement"
    )
      this.members.bind(0, this.name(target), { how: "value", node: value });
    this.nameFunction(target, value);
  }

  /** `member`: the value's part that the target stands for. */
  private bind(scope: number, target: number, node: number, how: How, member?: string, depth = 0): void {
    if (depth > MAX_PATTERN_DEPTH || target === -1) return;
    const deeper = (one: number, part: string | undefined, way: How = how) =>
      this.bind(
        scope,
        one,
        node,
        way,
        part === undefined || member === undefined ? (part ?? member) : `${member}\0${part}`,
        depth + 1,
      );
    switch (this.tree.kind(target)) {
      case "identifier":
      case "shorthand_property_identifier_pattern":
        this.scopes.bind(scope, this.name(target), {
          how,
          node,
          ...(member === undefined ? {} : { name: member }),
        });
        break;
      case "member_expression":
        this.members.bind(0, this.name(this.tree.child(target, "property")), { how, node });
        if (GLOBAL_OBJECT.test(this.tree.source(this.tree.child(target, "object"))))
          this.scopes.bind(0, this.name(this.tree.child(target, "property")), { how, node });
        this.escape(scope, node);
        break;
      case "subscript_expression": {
        this.fill(scope, target, [node], "mark");
        break;
      }
      case "object_pattern":
        for (const one of namedChildren(this.tree, target)) {
          switch (this.tree.kind(one)) {
            case "shorthand_property_identifier_pattern":
              deeper(one, this.name(one));
              break;
            case "pair_pattern":
              deeper(this.tree.child(one, "value"), keyOf(this.tree, this.tree.child(one, "key")));
              break;
            case "object_assignment_pattern":
              deeper(this.tree.child(one, "left"), this.name(this.tree.child(one, "left")));
              break;
            default:
              deeper(namedChildren(this.tree, one)[0] ?? -1, undefined);
          }
        }
        break;
      case "array_pattern":
        namedChildren(this.tree, target).forEach((one, index) => {
          const plain = how === "value" && this.tree.kind(node) === "array";
          deeper(one, plain ? String(index) : undefined, plain ? "value" : "element");
        });
        break;
      case "assignment_pattern":
        deeper(this.tree.child(target, "left"), undefined);
        this.bind(
          scope,
          this.tree.child(target, "left"),
          this.tree.child(target, "right"),
          "value",
          undefined,
          depth + 1,
        );
        break;
      case "required_parameter":
      case "optional_parameter":
        deeper(this.tree.child(target, "pattern"), undefined);
        break;
      case "rest_pattern":
      case "parenthesized_expression":
        deeper(namedChildren(this.tree, target)[0] ?? -1, undefined);
        break;
    }
  }

  /** Hides a name further out without giving it a value. */
  private declare(scope: number, target: number): void {
    const kind = target === -1 ? "" : this.tree.kind(target);
    if (kind === "identifier" || kind === "type_identifier")
      this.scopes.bind(scope, this.name(target), NOTHING);
    else if (kind === "required_parameter" || kind === "optional_parameter") {
      const pattern = this.tree.child(target, "pattern");
      if (pattern !== -1) this.declare(scope, pattern);
      const value = this.tree.child(target, "value");
      if (value !== -1) this.bind(scope, pattern, value, "value");
    } else if (kind === "assignment_pattern") {
      // A default is only one of the values.
      this.declare(scope, this.tree.child(target, "left"));
      this.bind(scope, target, this.tree.child(target, "right"), "value");
    }
  }

  private importNames(node: number, scope: number): void {
    const source = this.tree.child(node, "source");
    for (const clause of namedChildren(this.tree, node)) {
      if (this.tree.kind(clause) === "import_require_clause") {
        const module = moduleNameOf(textOf(this.tree, this.tree.child(clause, "source")));
        const title = namedChildren(this.tree, clause)[0];
        if (title !== undefined)
          this.scopes.bind(scope, this.name(title), { how: "name", node: clause, name: module });
      }
      if (this.tree.kind(clause) !== "import_clause" || source === -1) continue;
      const module = moduleNameOf(textOf(this.tree, source));
      for (const part of namedChildren(this.tree, clause)) {
        if (this.tree.kind(part) === "identifier")
          this.scopes.bind(scope, this.name(part), { how: "name", node: part, name: module });
        else if (this.tree.kind(part) === "namespace_import") {
          const title = namedChildren(this.tree, part)[0];
          if (title !== undefined)
            this.scopes.bind(scope, this.name(title), { how: "name", node: part, name: module });
        } else {
          for (const one of namedChildren(this.tree, part)) {
            const original = this.tree.child(one, "name");
            const alias = this.tree.child(one, "alias");
            if (original === -1 && alias === -1) continue;
            // `default` is a keyword, which the tree keeps no role of.
            const member = original === -1 ? "default" : keyOf(this.tree, original);
            const full = member === "default" ? module : `${module}.${member}`;
            this.scopes.bind(scope, this.name(alias === -1 ? original : alias), {
              how: "name",
              node: one,
              name: full,
            });
          }
        }
      }
    }
  }

  /** bus.on("x", (a) => …): what bus.emit("x", a) hands over. */
  private listen(call: number): void {
    const property = this.tree.child(this.tree.child(call, "function"), "property");
    if (property === -1 || !/^(?:on|once|addListener|addEventListener)$/.test(this.name(property))) return;
    const [event, listener] = namedChildren(this.tree, this.tree.child(call, "arguments"), 2);
    if (
      listener !== undefined &&
      this.tree.kind(event!) === "string" &&
      FUNCTIONS.has(this.tree.kind(listener))
    )
      push(this.functions, `emit ${textOf(this.tree, event!)}`, listener);
  }

  /** A name gets its value where it is declared, which may stand further down. */
  private assign(node: number): void {
    const target = this.tree.child(node, "left");
    const here = this.scopeAt[node]!;
    if (this.tree.kind(target) === "identifier") this.reassigned.add(this.name(target));
    const home =
      this.tree.kind(target) === "identifier"
        ? (this.scopes.find(here, this.name(target))?.scope ?? 0)
        : here;
    if (this.tree.kind(node) !== "assignment_expression") {
      this.bind(home, target, this.tree.child(node, "right"), "append");
      return;
    }
    const value = this.valueAtEnd(this.tree.child(node, "right"), "assignment_expression");
    this.bind(home, target, value, "value");
    this.nameFunction(target, value);
  }

  private nameFunction(target: number, value: number): void {
    if (!FUNCTIONS.has(this.tree.kind(value))) return;
    if (this.tree.kind(target) === "identifier") push(this.functions, this.name(target), value);
    else if (this.tree.kind(target) === "member_expression") {
      const property = this.name(this.tree.child(target, "property"));
      push(this.functions, property, value);
      // A handler gets what its object hears.
      if (/^on[a-z]/.test(property))
        this.handlers.push({ object: this.tree.child(target, "object"), handler: value });
    }
  }

  /** A class is called, not its constructor. */
  private calledAs(definition: number, title: number): string {
    const own = keyOf(this.tree, title);
    if (own !== "constructor") return own;
    const owner = this.tree.child(this.tree.parent(this.tree.parent(definition)), "name");
    return owner === -1 ? own : this.name(owner);
  }

  private hand(definition: number, given: readonly number[]): void {
    this.parametersOf(definition).forEach((parameter, place) => {
      const value = given[place];
      if (value !== undefined) this.bind(this.inner.get(definition)!, parameter, value, "value");
    });
  }

  /** A function's parameters may be whatever it is called with; a callback gets what its caller gives. */
  private handOver(call: number): void {
    const callee = unwrapped(
      this.tree,
      this.tree.child(call, "function") === -1
        ? this.tree.child(call, "constructor")
        : this.tree.child(call, "function"),
    );
    const list = this.tree.child(call, "arguments");
    if (callee === -1 || list === -1) return;
    const method = this.tree.kind(callee) === "member_expression";
    const called = method
      ? this.name(this.tree.child(callee, "property"))
      : this.tree.kind(callee) === "identifier"
        ? this.name(callee)
        : "";
    // A tagged template is a call with its text.
    const given = this.tree.kind(list) === "arguments" ? namedChildren(this.tree, list) : [list];
    const object = method ? this.tree.child(callee, "object") : -1;
    if (!KEEPS.test(called)) {
      for (const one of given) this.escape(this.scopeAt[call]!, one);
    }
    // Reflect.set(a, 0, x) changes a, which escapes, and not Reflect.
    if (method && FILLERS.has(called) && this.tree.source(object) !== "Reflect")
      this.fill(this.scopeAt[call]!, object, given, called === "push" ? "tail" : "mark");
    const direct = FUNCTIONS.has(this.tree.kind(callee))
      ? [callee]
      : (this.functions.get(called) ?? []).slice(0, 4);
    for (const definition of direct) this.hand(definition, given);
    if (called === "emit" && given.length > 0 && this.tree.kind(given[0]!) === "string")
      for (const listener of (this.functions.get(`emit ${textOf(this.tree, given[0]!)}`) ?? []).slice(0, 4))
        this.hand(listener, given.slice(1));
    for (const one of given) {
      if (!FUNCTIONS.has(this.tree.kind(one))) continue;
      for (const parameter of this.parameters.get(one) ?? []) {
        const home = this.inner.get(one)!;
        if (object !== -1) this.bind(home, parameter, object, called === "then" ? "value" : "element");
        this.bind(home, parameter, call, "value");
      }
    }
  }
}

/** The name that a key or a quoted key gives. */
export function keyOf(tree: FlatTree, key: number): string {
  if (key === -1) return "";
  if (tree.kind(key) === "computed_property_name") {
    const inner = namedChildren(tree, key)[0] ?? -1;
    return inner !== -1 && tree.kind(inner) === "string" ? textOf(tree, inner) : "?";
  }
  return tree.kind(key) === "string" ? textOf(tree, key) : identifierOf(tree.source(key));
}

/** The text of a literal. */
export function textOf(tree: FlatTree, string: number): string {
  return string === -1 ? "" : withoutEscapes(tree.source(string).slice(1, -1), true).text;
}

/** What parentheses and types are put around. */
function unwrapped(tree: FlatTree, node: number): number {
  let inner = node;
  for (let depth = 0; depth < MAX_CHAINED && inner !== -1 && WRAPPERS.has(tree.kind(inner)); depth++) {
    inner = namedChildren(tree, inner)[0] ?? -1;
  }
  return inner;
}

export const WRAPPERS = new Set([
  ...["parenthesized_expression", "as_expression", "non_null_expression", "satisfies_expression"],
  ...["await_expression", "spread_element"],
]);
