import { withoutEscapes } from "../escapes.js";
import { type FlatTree, namedChildren } from "../flat-tree.js";
import type { ProgramNames } from "../program-evaluator.js";
import { createScopes } from "../scopes.js";
import { identifierOf, moduleNameOf } from "./names.js";

/** What a JavaScript or TypeScript program gives names to, collected before anything is looked up. */
export interface JavaScriptNames extends ProgramNames {
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
const MAX_PATTERN_DEPTH = 16;
const MAX_PARAMETERS = 64;
const MAX_CHAINED = 64;

type How = "value" | "element" | "append";

export function isFunction(tree: FlatTree, node: number): boolean {
  return FUNCTIONS.has(tree.kind(node));
}

export function collectNames(tree: FlatTree): JavaScriptNames {
  const scopes = createScopes();
  const members = createScopes();
  const scopeAt = new Int32Array(tree.size);
  const functions = new Map<string, number[]>();
  const inner = new Map<number, number>();
  const returns = new Map<number, number[]>();
  const parameters = new Map<number, readonly number[]>();
  const calls: number[] = [];
  const assignments: number[] = [];
  const handlers: { object: number; handler: number }[] = [];
  const definitions: { node: number; end: number }[] = [];
  const name = (node: number) => identifierOf(tree.source(node));

  /** `member`: the value's part that the target stands for. */
  const bind = (scope: number, target: number, node: number, how: How, member?: string, depth = 0): void => {
    if (depth > MAX_PATTERN_DEPTH || target === -1) return;
    const deeper = (one: number, part: string | undefined, way: How = how) =>
      bind(scope, one, node, way, part, depth + 1);
    switch (tree.kind(target)) {
      case "identifier":
      case "shorthand_property_identifier_pattern":
        scopes.bind(scope, name(target), { how, node, ...(member === undefined ? {} : { name: member }) });
        break;
      case "member_expression":
        members.bind(0, name(tree.child(target, "property")), { how, node });
        break;
      case "subscript_expression": {
        const object = tree.child(target, "object");
        if (tree.kind(object) === "identifier") scopes.bind(scope, name(object), { how: "mark", node });
        break;
      }
      case "object_pattern":
        for (const one of namedChildren(tree, target)) {
          switch (tree.kind(one)) {
            case "shorthand_property_identifier_pattern":
              deeper(one, name(one));
              break;
            case "pair_pattern":
              deeper(tree.child(one, "value"), keyOf(tree, tree.child(one, "key")));
              break;
            case "object_assignment_pattern":
              deeper(tree.child(one, "left"), name(tree.child(one, "left")));
              break;
            default:
              deeper(namedChildren(tree, one)[0] ?? -1, undefined);
          }
        }
        break;
      case "array_pattern":
        namedChildren(tree, target).forEach((one, index) => {
          const plain = how === "value" && tree.kind(node) === "array";
          deeper(one, plain ? String(index) : undefined, plain ? "value" : "element");
        });
        break;
      case "assignment_pattern":
        deeper(tree.child(target, "left"), member);
        bind(scope, tree.child(target, "left"), tree.child(target, "right"), "value", undefined, depth + 1);
        break;
      case "required_parameter":
      case "optional_parameter":
        deeper(tree.child(target, "pattern"), member);
        break;
      case "rest_pattern":
      case "parenthesized_expression":
        deeper(namedChildren(tree, target)[0] ?? -1, undefined);
        break;
    }
  };

  /** Hides a name further out without giving it a value. */
  const declare = (scope: number, target: number): void => {
    const kind = tree.kind(target);
    if (kind === "identifier") scopes.bind(scope, name(target), { how: "name", node: -1, name: "" });
    else if (kind === "required_parameter" || kind === "optional_parameter") {
      const pattern = tree.child(target, "pattern");
      if (pattern !== -1) declare(scope, pattern);
      const value = tree.child(target, "value");
      if (value !== -1) bind(scope, pattern, value, "value");
    } else if (kind === "assignment_pattern") bind(scope, target, tree.child(target, "right"), "value");
  };

  const importNames = (node: number, scope: number): void => {
    const source = tree.child(node, "source");
    for (const clause of namedChildren(tree, node)) {
      if (tree.kind(clause) === "import_require_clause") {
        const module = moduleNameOf(textOf(tree, tree.child(clause, "source")));
        const title = namedChildren(tree, clause)[0];
        if (title !== undefined) scopes.bind(scope, name(title), { how: "name", node: clause, name: module });
      }
      if (tree.kind(clause) !== "import_clause" || source === -1) continue;
      const module = moduleNameOf(textOf(tree, source));
      for (const part of namedChildren(tree, clause)) {
        if (tree.kind(part) === "identifier")
          scopes.bind(scope, name(part), { how: "name", node: part, name: module });
        else if (tree.kind(part) === "namespace_import") {
          const title = namedChildren(tree, part)[0];
          if (title !== undefined) scopes.bind(scope, name(title), { how: "name", node: part, name: module });
        } else {
          for (const one of namedChildren(tree, part)) {
            const original = tree.child(one, "name");
            const alias = tree.child(one, "alias");
            if (original === -1) continue;
            const member = keyOf(tree, original);
            const full = member === "default" ? module : `${module}.${member}`;
            scopes.bind(scope, name(alias === -1 ? original : alias), { how: "name", node: one, name: full });
          }
        }
      }
    }
  };

  let scope = 0;
  const open: { end: number; scope: number }[] = [];
  for (let node = 0; node < tree.size; node++) {
    while (open.length > 0 && node >= open.at(-1)!.end) scope = open.pop()!.scope;
    while (definitions.length > 0 && node >= definitions.at(-1)!.end) definitions.pop();
    scopeAt[node] = scope;
    const kind = tree.kind(node);
    if (FUNCTIONS.has(kind)) {
      const title = tree.child(node, "name");
      if (title !== -1) {
        if (kind.endsWith("declaration")) scopes.bind(scope, name(title), { how: "function", node });
        push(functions, kind === "method_definition" ? calledAs(node, title) : name(title), node);
      }
      open.push({ end: tree.after(node), scope });
      definitions.push({ node, end: tree.after(node) });
      scope = scopes.open(scope);
      inner.set(node, scope);
      const single = tree.child(node, "parameter");
      const many = tree.child(node, "parameters");
      const all =
        single !== -1 ? [single] : many === -1 ? [] : namedChildren(tree, many).slice(0, MAX_PARAMETERS);
      parameters.set(node, all);
      for (const one of all) declare(scope, one);
      const body = tree.child(node, "body");
      if (body !== -1 && tree.kind(body) !== "statement_block") push(returns, node, body);
      continue;
    }
    switch (kind) {
      case "return_statement":
      case "yield_expression": {
        const value = namedChildren(tree, node)[0];
        const definition = definitions.at(-1)?.node;
        if (value !== undefined && definition !== undefined) push(returns, definition, value);
        break;
      }
      case "import_statement":
        importNames(node, scope);
        break;
      case "variable_declarator": {
        const target = tree.child(node, "name");
        const value = valueAtEnd(tree, tree.child(node, "value"));
        if (value === -1) {
          // At the top, a name without a value is still what it was: var require; declare const process.
          const above = tree.kind(tree.parent(tree.parent(node)));
          if (scope !== 0 && above !== "for_in_statement") declare(scope, target);
          break;
        }
        bind(scope, target, value, "value");
        nameFunction(target, value);
        break;
      }
      case "assignment_expression":
      case "augmented_assignment_expression":
        assignments.push(node);
        break;
      case "public_field_definition":
      case "field_definition": {
        const title =
          tree.child(node, "name") === -1 ? tree.child(node, "property") : tree.child(node, "name");
        const value = tree.child(node, "value");
        if (title !== -1 && value !== -1) {
          members.bind(0, name(title), { how: "value", node: value });
          if (FUNCTIONS.has(tree.kind(value))) push(functions, name(title), value);
        }
        break;
      }
      case "pair": {
        const value = tree.child(node, "value");
        if (value !== -1 && FUNCTIONS.has(tree.kind(value)))
          push(functions, keyOf(tree, tree.child(node, "key")), value);
        break;
      }
      case "for_in_statement":
        bind(scope, tree.child(node, "left"), tree.child(node, "right"), "element");
        break;
      case "call_expression":
      case "new_expression":
        calls.push(node);
        break;
    }
  }
  for (const assignment of assignments) assign(assignment);
  for (const call of calls) listen(call);
  for (const call of calls) handOver(call);
  for (const { object, handler } of handlers) {
    for (const parameter of parameters.get(handler) ?? [])
      bind(inner.get(handler)!, parameter, object, "value");
  }

  /** bus.on("x", (a) => …): what bus.emit("x", a) hands over. */
  function listen(call: number): void {
    const property = tree.child(tree.child(call, "function"), "property");
    if (property === -1 || !/^(?:on|once|addListener|addEventListener)$/.test(name(property))) return;
    const [event, listener] = namedChildren(tree, tree.child(call, "arguments"), 2);
    if (listener !== undefined && tree.kind(event!) === "string" && FUNCTIONS.has(tree.kind(listener)))
      push(functions, `emit ${textOf(tree, event!)}`, listener);
  }

  /** A name gets its value where it is declared, which may stand further down. */
  function assign(node: number): void {
    const target = tree.child(node, "left");
    const here = scopeAt[node]!;
    const home = tree.kind(target) === "identifier" ? (scopes.find(here, name(target))?.scope ?? 0) : here;
    if (tree.kind(node) !== "assignment_expression") {
      bind(home, target, tree.child(node, "right"), "append");
      return;
    }
    const value = valueAtEnd(tree, tree.child(node, "right"));
    bind(home, target, value, "value");
    nameFunction(target, value);
  }

  function nameFunction(target: number, value: number): void {
    if (!FUNCTIONS.has(tree.kind(value))) return;
    if (tree.kind(target) === "identifier") push(functions, name(target), value);
    else if (tree.kind(target) === "member_expression") {
      const property = name(tree.child(target, "property"));
      push(functions, property, value);
      // A handler gets what its object hears.
      if (/^on[a-z]/.test(property)) handlers.push({ object: tree.child(target, "object"), handler: value });
    }
  }

  /** A class is called, not its constructor. */
  function calledAs(definition: number, title: number): string {
    const own = keyOf(tree, title);
    if (own !== "constructor") return own;
    const owner = tree.child(tree.parent(tree.parent(definition)), "name");
    return owner === -1 ? own : name(owner);
  }

  /** A function's parameters may be whatever it is called with; a callback gets what its caller gives. */
  function handOver(call: number): void {
    const callee = unwrapped(
      tree,
      tree.child(call, "function") === -1 ? tree.child(call, "constructor") : tree.child(call, "function"),
    );
    const list = tree.child(call, "arguments");
    if (callee === -1 || list === -1) return;
    const method = tree.kind(callee) === "member_expression";
    const called = method
      ? name(tree.child(callee, "property"))
      : tree.kind(callee) === "identifier"
        ? name(callee)
        : "";
    // A tagged template is a call with its text.
    const given = tree.kind(list) === "arguments" ? namedChildren(tree, list) : [list];
    const object = method ? tree.child(callee, "object") : -1;
    if (method && FILLERS.has(called) && tree.kind(object) === "identifier") {
      const home = scopes.find(scopeAt[call]!, name(object))?.scope ?? 0;
      for (const one of given)
        scopes.bind(home, name(object), { how: called === "push" ? "tail" : "mark", node: one });
    }
    const direct = FUNCTIONS.has(tree.kind(callee)) ? [callee] : (functions.get(called) ?? []).slice(0, 4);
    for (const definition of direct) {
      const names = parameters.get(definition) ?? [];
      given.forEach((value, place) => {
        if (names[place] !== undefined) bind(inner.get(definition)!, names[place], value, "value");
      });
    }
    if (called === "emit" && given.length > 0 && tree.kind(given[0]!) === "string")
      for (const listener of (functions.get(`emit ${textOf(tree, given[0]!)}`) ?? []).slice(0, 4))
        (parameters.get(listener) ?? []).forEach((parameter, place) => {
          const value = given[place + 1];
          if (value !== undefined) bind(inner.get(listener)!, parameter, value, "value");
        });
    for (const one of given) {
      if (!FUNCTIONS.has(tree.kind(one))) continue;
      for (const parameter of parameters.get(one) ?? []) {
        const home = inner.get(one)!;
        if (object !== -1) bind(home, parameter, object, called === "then" ? "value" : "element");
        bind(home, parameter, call, "value");
      }
    }
  }

  return {
    scopes,
    members,
    scopeOf: (node) => scopeAt[node]!,
    returnsOf: (definition) => returns.get(definition) ?? [],
    parametersOf: (definition) => parameters.get(definition) ?? [],
  };
}

function push<K>(map: Map<K, number[]>, key: K, node: number): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [node]);
  else known.push(node);
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
export function unwrapped(tree: FlatTree, node: number): number {
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

/** a = b = c: what every target gets stands at the end. */
function valueAtEnd(tree: FlatTree, node: number): number {
  let value = node;
  for (
    let links = 0;
    value !== -1 && tree.kind(value) === "assignment_expression" && links < MAX_CHAINED;
    links++
  ) {
    value = tree.child(value, "right");
  }
  return value;
}
