import { type FlatTree, namedChildren } from "../flat-tree.js";
import { type How, MAX_PATTERN_DEPTH, NameCollector, NOTHING, push } from "../name-collector.js";
import type { ProgramNames } from "../program-evaluator.js";

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
    if (
      module === undefined ||
      (module === "socket" && parts[at - 1] === module) ||
      OWN.has(parts.slice(0, at + 1).join("."))
    )
      continue;
    if (parts.slice(0, at).some((part) => part.endsWith(")"))) continue;
    return [module, ...parts.slice(at + 1)].join(".");
  }
  return name;
}

const MAX_STARS = 32;
/** Functions that call what they are given for each item. */
const EACH = new Set("map filter imap imap_unordered starmap filterfalse takewhile dropwhile".split(" "));
const FILLERS = new Set(
  "append extend insert add update appendleft remove pop reverse sort clear setdefault write put".split(" "),
);

const CHANGERS =
  /^(?:i?(?:set|del)item|i?concat|iadd|insert|append|extend|shuffle|heap\w+|insort\w*|__[sdi]\w+__)$/;

/** Functions that do not change what they are given, and whose result is followed. */
const KEEPS =
  /^(?:print|len|str|repr|join|format|list|tuple|set|dict|sorted|reversed|enumerate|zip|range|map|filter|any|all|sum|min|max|isinstance|type|bool|run|call|check_call|check_output|Popen|system|eval|exec\w*|spawn\w*|posix_spawnp?|create_subprocess_\w+|getoutput|info|debug|warning|error|exception|dumps?|quote|copy|append|extend|index|count|get|array|DataFrame|submit|apply_async|Thread|Process|assert\w*)$/;

/** Collects the names of a Python program. */
export function collectNames(tree: FlatTree): PythonNames {
  return new PythonNameCollector(tree).collect();
}

class PythonNameCollector extends NameCollector implements PythonNames {
  readonly stars: string[] = [];
  private readonly homes = new Map<number, Map<string, number>>();
  private readonly parameters = new Map<number, string[]>();

  protected name(node: number): string {
    return identifierOf(this.tree.source(node));
  }

  protected finish(): void {
    for (const call of this.calls) this.handOver(call);
  }

  protected visit(node: number, kind: string): void {
    const { tree, scope } = this;
    const child = (field: string) => tree.child(node, field);
    switch (kind) {
      case "function_definition":
      case "lambda":
      case "class_definition":
        this.define(node, kind);
        break;
      case "return_statement":
      case "yield":
        this.giveBack(namedChildren(tree, node)[0]);
        break;
      case "global_statement":
      case "nonlocal_statement":
        this.takeHome(node, kind === "global_statement");
        break;
      case "import_statement":
        this.importModules(node, scope);
        break;
      case "import_from_statement":
        this.importNames(node, scope);
        break;
      case "assignment":
        this.assign(node);
        break;
      case "augmented_assignment":
        this.bind(scope, child("left"), child("right"), "append");
        break;
      case "named_expression":
        this.bind(scope, child("name"), child("value"), "value");
        break;
      case "for_statement":
      case "for_in_clause":
        this.bind(scope, child("left"), child("right"), "element");
        break;
      case "as_pattern": {
        const value = namedChildren(tree, node)[0];
        if (child("alias") !== -1 && value !== undefined) this.bind(scope, child("alias"), value, "value");
        break;
      }
      case "case_clause":
        this.capture(node);
        break;
      case "call":
        this.calls.push(node);
        break;
    }
  }

  /** The names that a `case` gives to what is matched, or to a part of it. */
  private capture(clause: number): void {
    const { tree } = this;
    let statement = clause;
    while (statement !== -1 && tree.kind(statement) !== "match_statement") statement = tree.parent(statement);
    const subject = tree.child(statement, "subject");
    const patterns = namedChildren(tree, clause).filter((one) => tree.kind(one) === "case_pattern");
    const end = patterns.length === 0 ? clause : tree.after(patterns.at(-1)!);
    for (let at = patterns[0] ?? end; at < end; at++) {
      if (tree.kind(at) !== "identifier") continue;
      this.scopes.bind(this.scope, this.name(at), { how: "value", node: subject });
      this.scopes.bind(this.scope, this.name(at), { how: "element", node: subject });
      this.scopes.bind(this.scope, this.name(at), NOTHING);
    }
  }

  private define(node: number, kind: string): void {
    const { tree } = this;
    const title = tree.child(node, "name");
    if (title !== -1) {
      this.scopes.bind(this.scope, this.name(title), { how: "function", node });
      if (kind === "function_definition") push(this.functions, this.calledAs(node, title), node);
    }
    this.enter(node, kind === "class_definition");
    const list = tree.child(node, "parameters");
    if (list !== -1) for (const one of namedChildren(tree, list)) this.parameter(one, this.scope);
    if (kind === "lambda") this.giveBack(tree.child(node, "body"), node);
  }

  /** Names that belong to a scope further out. */
  private takeHome(node: number, isGlobal: boolean): void {
    const names = this.homes.get(this.scope) ?? new Map<string, number>();
    const outer = this.open.at(-1)?.scope ?? 0;
    for (const one of namedChildren(this.tree, node))
      names.set(this.name(one), isGlobal ? 0 : (this.scopes.find(outer, this.name(one))?.scope ?? outer));
    this.homes.set(this.scope, names);
  }

  private assign(node: number): void {
    const { tree } = this;
    const right = this.valueAtEnd(tree.child(node, "right"), "assignment");
    if (right === -1) return;
    const target = tree.child(node, "left");
    this.bind(this.scope, target, right, "value");
    if (tree.kind(target) !== "identifier") return;
    if (tree.kind(right) === "lambda") push(this.functions, this.name(target), right);
    if (isClassBody(tree, node)) this.members.bind(0, this.name(target), { how: "value", node: right });
  }

  private bind(scope: number, target: number, node: number, how: How, depth = 0): void {
    if (depth > MAX_PATTERN_DEPTH) return;
    switch (this.tree.kind(target)) {
      case "identifier": {
        const home = this.homes.get(scope)?.get(this.name(target));
        this.scopes.bind(home ?? scope, this.name(target), { how, node });
        break;
      }
      case "attribute":
        this.members.bind(0, this.name(this.tree.child(target, "attribute")), { how, node });
        this.escape(scope, node);
        break;
      case "subscript": {
        this.fill(scope, target, [node], "mark");
        break;
      }
      case "pattern_list":
      case "tuple_pattern":
      case "list_pattern":
      case "tuple":
      case "list":
      case "as_pattern_target":
      case "parenthesized_expression": {
        const targets = namedChildren(this.tree, target);
        if (this.tree.kind(target) === "as_pattern_target" && targets.length === 1) {
          this.bind(scope, targets[0]!, node, how, depth + 1);
          break;
        }
        const sequence = ["expression_list", "tuple", "list"].includes(this.tree.kind(node));
        const values = sequence ? namedChildren(this.tree, node) : [];
        const paired = how === "value" && values.length === targets.length;
        targets.forEach((one, index) => {
          this.bind(scope, one, paired ? values[index]! : node, paired ? "value" : "element", depth + 1);
        });
        break;
      }
      case "list_splat_pattern":
        for (const one of namedChildren(this.tree, target)) this.bind(scope, one, node, "value", depth + 1);
        break;
    }
  }

  /** A class is called, not its constructor. */
  private calledAs(definition: number, title: number): string {
    if (this.name(title) !== "__init__") return this.name(title);
    const owner = this.tree.parent(this.tree.parent(definition));
    return this.tree.kind(owner) === "class_definition"
      ? this.name(this.tree.child(owner, "name"))
      : "__init__";
  }

  private importModules(node: number, scope: number): void {
    for (const one of namedChildren(this.tree, node)) {
      if (this.tree.kind(one) === "aliased_import") {
        const module = this.name(this.tree.child(one, "name")).replace(/\s/g, "");
        this.scopes.bind(scope, this.name(this.tree.child(one, "alias")), {
          how: "name",
          node: one,
          name: canonicalName(module),
        });
      } else {
        const root = this.name(one).replace(/\s/g, "").split(".")[0]!;
        this.scopes.bind(scope, root, { how: "name", node: one, name: root });
      }
    }
  }

  private importNames(node: number, scope: number): void {
    const from = this.tree.child(node, "module_name");
    const module = from === -1 ? "" : this.name(from).replace(/\s/g, "");
    for (const one of namedChildren(this.tree, node)) {
      if (one === from) continue;
      if (this.tree.kind(one) === "wildcard_import") {
        if (this.stars.length < MAX_STARS) this.stars.push(module);
      } else if (this.tree.kind(one) === "aliased_import") {
        const original = this.name(this.tree.child(one, "name"));
        this.scopes.bind(scope, this.name(this.tree.child(one, "alias")), {
          how: "name",
          node: one,
          name: canonicalName(`${module}.${original}`),
        });
      } else
        this.scopes.bind(scope, this.name(one), {
          how: "name",
          node: one,
          name: canonicalName(`${module}.${this.name(one)}`),
        });
    }
  }

  private parameter(node: number, scope: number): void {
    const value = this.tree.child(node, "value");
    const target = this.tree.kind(node) === "identifier" ? node : (this.tree.child(node, "name") ?? -1);
    // Bound to itself, so that it hides a name further out; calls add what they hand over.
    if (target !== -1) {
      // A default is only one of the values.
      this.scopes.bind(scope, this.name(target), NOTHING);
      if (value !== -1) this.scopes.bind(scope, this.name(target), { how: "value", node: value });
    } else {
      const first = namedChildren(this.tree, node)[0];
      if (first !== undefined && this.tree.kind(first) === "identifier")
        this.scopes.bind(scope, this.name(first), NOTHING);
    }
  }

  /** The default of an option of the command line is a member of what is parsed. */
  private addOption(given: readonly number[]): void {
    const { tree } = this;
    const title = /^["']-{0,2}([\w-]+)["']$/.exec(tree.source(given[0] ?? -1))?.[1];
    const fallback = given.find(
      (one) => tree.kind(one) === "keyword_argument" && this.name(tree.child(one, "name")) === "default",
    );
    if (title !== undefined && fallback !== undefined)
      this.members.bind(0, title.replaceAll("-", "_"), { how: "value", node: tree.child(fallback, "value") });
  }

  /** map(f, items), pool.submit(f, a), Thread(target=f, args=(a,)): f gets what goes along with it. */
  private handAcross(called: string, given: readonly number[]): void {
    const { tree } = this;
    const keyword = (title: string) => {
      const found = given.find(
        (one) => tree.kind(one) === "keyword_argument" && this.name(tree.child(one, "name")) === title,
      );
      return found === undefined ? undefined : tree.child(found, "value");
    };
    const callee = keyword("target") ?? given[0];
    if (callee === undefined || given.length < 2) return;
    const definitions =
      tree.kind(callee) === "lambda"
        ? [callee]
        : tree.kind(callee) === "identifier"
          ? this.functions.get(this.name(callee))
          : undefined;
    const list = keyword("args");
    const values =
      list !== undefined && tree.kind(list) === "tuple" ? namedChildren(tree, list) : given.slice(1);
    for (const definition of (definitions ?? []).slice(0, 4)) {
      this.parametersOf(definition).forEach((parameter, place) => {
        const node = values[place];
        if (node !== undefined && tree.kind(node) !== "keyword_argument")
          this.scopes.bind(this.inner.get(definition)!, parameter, {
            how: EACH.has(called) ? "element" : "value",
            node,
          });
      });
    }
  }

  /** A function's parameters may be whatever it is called with. */
  private handOver(call: number): void {
    const callee = this.tree.child(call, "function");
    const list = this.tree.child(call, "arguments");
    if (list === -1 || this.tree.kind(list) !== "argument_list") return;
    const method = this.tree.kind(callee) === "attribute";
    const plain = this.tree.kind(callee) === "identifier" ? this.name(callee) : "";
    const called = method ? this.name(this.tree.child(callee, "attribute")) : plain;
    const lambda =
      this.tree.kind(callee) === "parenthesized_expression" ? namedChildren(this.tree, callee)[0] : undefined;
    const direct = lambda !== undefined && this.tree.kind(lambda) === "lambda" ? [lambda] : undefined;
    const given = namedChildren(this.tree, list);
    if (!KEEPS.test(called)) {
      for (const one of given) this.escape(this.scopeAt[call]!, one);
    }
    if (method && FILLERS.has(called)) {
      const how = called === "append" || called === "extend" ? "tail" : "mark";
      this.fill(this.scopeAt[call]!, this.tree.child(callee, "object"), given, how);
    }
    // operator.setitem(a, 0, x), list.insert(a, 0, x): the list comes first.
    if (method && CHANGERS.test(called) && given[0] !== undefined) {
      if (called.startsWith("__"))
        this.fill(this.scopeAt[call]!, this.tree.child(callee, "object"), given, "mark");
      const owner = this.rootOf(callee);
      if (
        owner !== -1 &&
        !/value|element/.test(this.scopes.find(this.scopeAt[call]!, this.name(owner))?.bindings[0]?.how ?? "")
      )
        this.fill(this.scopeAt[call]!, given[0], given.slice(1), "mark");
    }
    this.handAcross(called, given);
    if (called === "add_argument") this.addOption(given);
    // ftp.retrbinary("…", buffer.write): what the call hears goes into the buffer.
    for (const one of given)
      if (this.tree.kind(one) === "attribute" && FILLERS.has(this.name(this.tree.child(one, "attribute"))))
        this.fill(this.scopeAt[call]!, this.tree.child(one, "object"), [call], "mark");
    for (const definition of direct ?? (this.functions.get(called) ?? []).slice(0, 4)) {
      const names = this.parametersOf(definition);
      let place = 0;
      for (const one of given) {
        const keyword = this.tree.kind(one) === "keyword_argument";
        const target = keyword ? this.name(this.tree.child(one, "name")) : names[place++];
        const value = keyword ? this.tree.child(one, "value") : one;
        if (target !== undefined && names.includes(target)) {
          this.scopes.bind(this.inner.get(definition)!, target, { how: "value", node: value });
        }
      }
    }
  }

  parametersOf(definition: number): readonly string[] {
    const { tree } = this;
    const known = this.parameters.get(definition);
    if (known !== undefined) return known;
    const names = this.parameterNodes(tree.child(definition, "parameters")).flatMap((one) => {
      if (tree.kind(one) === "identifier") return [this.name(one)];
      const title = tree.child(one, "name");
      if (title !== -1) return [this.name(title)];
      const first = namedChildren(tree, one)[0];
      return tree.kind(one) === "typed_parameter" && first !== undefined ? [this.name(first)] : [];
    });
    if (names[0] === "self" || names[0] === "cls") names.shift();
    this.parameters.set(definition, names);
    return names;
  }
}

function isClassBody(tree: FlatTree, assignment: number): boolean {
  const block = tree.parent(tree.parent(assignment));
  return tree.kind(block) === "block" && tree.kind(tree.parent(block)) === "class_definition";
}
