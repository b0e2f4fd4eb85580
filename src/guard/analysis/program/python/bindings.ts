import { type FlatTree, namedChildren } from "../flat-tree.js";
import type { ProgramNames } from "../program-evaluator.js";
import { createScopes } from "../scopes.js";

/** What a Python program gives names to, collected before anything is looked up. */
export interface PythonNames extends ProgramNames {
  /** Modules whose names all become names of the program. */
  readonly stars: readonly string[];
  /** The names of a function's parameters, without the object it belongs to. */
  parametersOf(definition: number): readonly string[];
}

/** The normal form that Python gives an identifier: 𝓮𝓿𝓪𝓵 is eval. */
export function identifierOf(source: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything but ASCII
  return /^[\x00-\x7f]*$/.test(source) ? source : source.normalize("NFKC");
}

/** Modules that other modules have imported, and that are reached through them: `shutil.os`, `tempfile._os`. */
const REACHED = new Set(
  "os sys subprocess builtins posix nt pty socket shutil importlib ctypes pickle marshal runpy _posixsubprocess".split(
    " ",
  ),
);
/** Modules of their own that are named like another. */
const OWN = new Set(["asyncio.subprocess", "email.mime", "multiprocessing.context"]);

/** The module that an attribute of this name is, whatever it is taken from. */
export function reachedModule(name: string): string | undefined {
  const plain = name.replace(/^_(?=os$|sys$|subprocess$|socket$)/, "");
  return REACHED.has(plain) ? plain : undefined;
}

/** A qualified name without the modules through which it is reached. */
export function canonicalName(name: string): string {
  const parts = name.split(".");
  for (let at = parts.length - 1; at > 0; at--) {
    const module = reachedModule(parts[at]!);
    if (module === undefined || parts[at] === parts[at - 1] || OWN.has(parts.slice(0, at + 1).join(".")))
      continue;
    if (parts.slice(0, at).some((part) => part.endsWith(")"))) continue;
    return [module, ...parts.slice(at + 1)].join(".");
  }
  return name;
}

type How = "value" | "element" | "append";
const MAX_PATTERN_DEPTH = 16;
const MAX_PARAMETERS = 64;
const MAX_CHAINED = 64;
const MAX_STARS = 32;
const FILLERS = new Set([
  "append",
  "extend",
  "insert",
  "add",
  "update",
  "appendleft",
  "remove",
  "pop",
  "reverse",
  "sort",
  "clear",
  "setdefault",
  "write",
  "put",
]);

export function collectNames(tree: FlatTree): PythonNames {
  const scopes = createScopes();
  const members = createScopes();
  const scopeAt = new Int32Array(tree.size);
  const stars: string[] = [];
  const functions = new Map<string, number[]>();
  const inner = new Map<number, number>();
  const returns = new Map<number, number[]>();
  const homes = new Map<number, Map<string, number>>();
  const parametersOf = new Map<number, string[]>();
  const calls: number[] = [];
  const definitions: { node: number; end: number }[] = [];

  const name = (node: number) => identifierOf(tree.source(node));

  const bind = (scope: number, target: number, node: number, how: How, depth = 0): void => {
    if (depth > MAX_PATTERN_DEPTH) return;
    switch (tree.kind(target)) {
      case "identifier": {
        const home = homes.get(scope)?.get(name(target));
        scopes.bind(home ?? scope, name(target), { how, node });
        break;
      }
      case "attribute":
        members.bind(0, name(tree.child(target, "attribute")), { how, node });
        break;
      case "subscript": {
        const object = tree.child(target, "value");
        if (tree.kind(object) === "identifier") scopes.bind(scope, name(object), { how: "mark", node });
        break;
      }
      case "pattern_list":
      case "tuple_pattern":
      case "list_pattern":
      case "tuple":
      case "list":
      case "as_pattern_target":
      case "parenthesized_expression": {
        const targets = namedChildren(tree, target);
        if (tree.kind(target) === "as_pattern_target" && targets.length === 1) {
          bind(scope, targets[0]!, node, how, depth + 1);
          break;
        }
        const sequence = ["expression_list", "tuple", "list"].includes(tree.kind(node));
        const values = sequence ? namedChildren(tree, node) : [];
        const paired = how === "value" && values.length === targets.length;
        targets.forEach((one, index) => {
          bind(scope, one, paired ? values[index]! : node, paired ? "value" : "element", depth + 1);
        });
        break;
      }
      case "list_splat_pattern":
        for (const one of namedChildren(tree, target)) bind(scope, one, node, "value", depth + 1);
        break;
    }
  };

  /** A class is called, not its constructor. */
  const calledAs = (definition: number, title: number): string => {
    if (name(title) !== "__init__") return name(title);
    const owner = tree.parent(tree.parent(definition));
    return tree.kind(owner) === "class_definition" ? name(tree.child(owner, "name")) : "__init__";
  };

  const importNames = (node: number, scope: number): void => {
    if (tree.kind(node) === "import_statement") {
      for (const one of namedChildren(tree, node)) {
        if (tree.kind(one) === "aliased_import") {
          const module = name(tree.child(one, "name")).replace(/\s/g, "");
          scopes.bind(scope, name(tree.child(one, "alias")), {
            how: "name",
            node: one,
            name: canonicalName(module),
          });
        } else {
          const root = name(one).replace(/\s/g, "").split(".")[0]!;
          scopes.bind(scope, root, { how: "name", node: one, name: root });
        }
      }
      return;
    }
    const from = tree.child(node, "module_name");
    const module = from === -1 ? "" : name(from).replace(/\s/g, "");
    for (const one of namedChildren(tree, node)) {
      if (one === from) continue;
      if (tree.kind(one) === "wildcard_import") {
        if (stars.length < MAX_STARS) stars.push(module);
      } else if (tree.kind(one) === "aliased_import") {
        const original = name(tree.child(one, "name"));
        scopes.bind(scope, name(tree.child(one, "alias")), {
          how: "name",
          node: one,
          name: canonicalName(`${module}.${original}`),
        });
      } else
        scopes.bind(scope, name(one), {
          how: "name",
          node: one,
          name: canonicalName(`${module}.${name(one)}`),
        });
    }
  };

  const parameter = (node: number, scope: number): void => {
    const value = tree.child(node, "value");
    const target = tree.kind(node) === "identifier" ? node : (tree.child(node, "name") ?? -1);
    // Bound to itself, so that it hides a name further out; calls add what they hand over.
    if (target !== -1)
      scopes.bind(scope, name(target), value === -1 ? NOTHING : { how: "value", node: value });
    else {
      const first = namedChildren(tree, node)[0];
      if (first !== undefined && tree.kind(first) === "identifier") scopes.bind(scope, name(first), NOTHING);
    }
  };

  let scope = 0;
  const open: { end: number; scope: number }[] = [];
  for (let node = 0; node < tree.size; node++) {
    while (open.length > 0 && node >= open.at(-1)!.end) scope = open.pop()!.scope;
    while (definitions.length > 0 && node >= definitions.at(-1)!.end) definitions.pop();
    scopeAt[node] = scope;
    switch (tree.kind(node)) {
      case "function_definition":
      case "lambda":
      case "class_definition": {
        const kind = tree.kind(node);
        const title = tree.child(node, "name");
        if (title !== -1) {
          scopes.bind(scope, name(title), { how: "function", node });
          if (kind === "function_definition") push(functions, calledAs(node, title), node);
        }
        open.push({ end: tree.after(node), scope });
        if (kind !== "class_definition") definitions.push({ node, end: tree.after(node) });
        scope = scopes.open(scope, kind === "class_definition");
        inner.set(node, scope);
        const parameters = tree.child(node, "parameters");
        if (parameters !== -1) for (const one of namedChildren(tree, parameters)) parameter(one, scope);
        if (kind === "lambda") returns.set(node, [tree.child(node, "body")]);
        break;
      }
      case "return_statement":
      case "yield": {
        const value = namedChildren(tree, node)[0];
        const definition = definitions.at(-1)?.node;
        if (value !== undefined && definition !== undefined) push(returns, definition, value);
        break;
      }
      case "global_statement":
      case "nonlocal_statement": {
        const names = homes.get(scope) ?? new Map<string, number>();
        const outer = open.at(-1)?.scope ?? 0;
        const isGlobal = tree.kind(node) === "global_statement";
        for (const one of namedChildren(tree, node))
          names.set(name(one), isGlobal ? 0 : (scopes.find(outer, name(one))?.scope ?? outer));
        homes.set(scope, names);
        break;
      }
      case "import_statement":
      case "import_from_statement":
        importNames(node, scope);
        break;
      case "assignment": {
        const right = valueOfAssignment(tree, node);
        if (right !== -1) {
          const target = tree.child(node, "left");
          bind(scope, target, right, "value");
          if (tree.kind(right) === "lambda" && tree.kind(target) === "identifier")
            push(functions, name(target), right);
          if (isClassBody(tree, node) && tree.kind(target) === "identifier") {
            members.bind(0, name(target), { how: "value", node: right });
          }
        }
        break;
      }
      case "augmented_assignment":
        bind(scope, tree.child(node, "left"), tree.child(node, "right"), "append");
        break;
      case "named_expression":
        bind(scope, tree.child(node, "name"), tree.child(node, "value"), "value");
        break;
      case "for_statement":
      case "for_in_clause":
        bind(scope, tree.child(node, "left"), tree.child(node, "right"), "element");
        break;
      case "as_pattern": {
        const alias = tree.child(node, "alias");
        const value = namedChildren(tree, node)[0];
        if (alias !== -1 && value !== undefined) bind(scope, alias, value, "value");
        break;
      }
      case "call":
        calls.push(node);
        break;
    }
  }

  for (const call of calls) handOver(call);

  /** A function's parameters may be whatever it is called with. */
  function handOver(call: number): void {
    const callee = tree.child(call, "function");
    const list = tree.child(call, "arguments");
    if (list === -1 || tree.kind(list) !== "argument_list") return;
    const method = tree.kind(callee) === "attribute";
    const plain = tree.kind(callee) === "identifier" ? name(callee) : "";
    const called = method ? name(tree.child(callee, "attribute")) : plain;
    const lambda =
      tree.kind(callee) === "parenthesized_expression" ? namedChildren(tree, callee)[0] : undefined;
    const direct = lambda !== undefined && tree.kind(lambda) === "lambda" ? [lambda] : undefined;
    const given = namedChildren(tree, list);
    if (method && FILLERS.has(called)) {
      const object = tree.child(callee, "object");
      if (tree.kind(object) === "identifier") {
        const home = scopes.find(scopeAt[call]!, name(object))?.scope ?? 0;
        const how = called === "append" || called === "extend" ? "tail" : "mark";
        for (const one of given) scopes.bind(home, name(object), { how, node: one });
      }
    }
    for (const definition of direct ?? (functions.get(called) ?? []).slice(0, 4)) {
      const names = parameterNames(definition);
      let place = 0;
      for (const one of given) {
        const keyword = tree.kind(one) === "keyword_argument";
        const target = keyword ? name(tree.child(one, "name")) : names[place++];
        const value = keyword ? tree.child(one, "value") : one;
        if (target !== undefined && names.includes(target)) {
          scopes.bind(inner.get(definition)!, target, { how: "value", node: value });
        }
      }
    }
  }

  function parameterNames(definition: number): string[] {
    const known = parametersOf.get(definition);
    if (known !== undefined) return known;
    const parameters = tree.child(definition, "parameters");
    const all = parameters === -1 ? [] : namedChildren(tree, parameters).slice(0, MAX_PARAMETERS);
    const names = all.flatMap((one) => {
      if (tree.kind(one) === "identifier") return [name(one)];
      const title = tree.child(one, "name");
      if (title !== -1) return [name(title)];
      const first = namedChildren(tree, one)[0];
      return tree.kind(one) === "typed_parameter" && first !== undefined ? [name(first)] : [];
    });
    if (names[0] === "self" || names[0] === "cls") names.shift();
    parametersOf.set(definition, names);
    return names;
  }

  return {
    scopes,
    members,
    stars,
    scopeOf: (node) => scopeAt[node]!,
    returnsOf: (definition) => returns.get(definition) ?? [],
    parametersOf: parameterNames,
  };
}

/** Hides a name further out without giving it a value. */
const NOTHING = { how: "name", node: -1, name: "" } as const;

function push<K>(map: Map<K, number[]>, key: K, node: number): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [node]);
  else known.push(node);
}

/** a = b = c: what every target gets stands at the end. */
function valueOfAssignment(tree: FlatTree, node: number): number {
  let right = tree.child(node, "right");
  for (let links = 0; right !== -1 && tree.kind(right) === "assignment" && links < MAX_CHAINED; links++) {
    right = tree.child(right, "right");
  }
  return right;
}

function isClassBody(tree: FlatTree, assignment: number): boolean {
  const block = tree.parent(tree.parent(assignment));
  return tree.kind(block) === "block" && tree.kind(tree.parent(block)) === "class_definition";
}
