import type { Node } from "@vscode/tree-sitter-wasm";
import type { WorkBudget } from "../../../kit/parser/index.js";
import { stringOf } from "./javascript-values.js";

const MAX_STEPS = 24;
/** Asking a node crosses into the parser's memory. */
const NODE_WORK = 200;

/** What the names of a program stand for. */
export interface JavaScriptNames {
  readonly work: WorkBudget;
  /** The path that an expression names: "child_process.exec"; "child_process.?" when known only when it runs. */
  pathOf(node: Node): string | undefined;
  /** The expression a name was given, if it was given only one. */
  expressionOf(name: string): Node | undefined;
}

/** A name's expression, and the members that were taken out of it. */
interface Binding {
  readonly value: Node;
  readonly members: readonly string[];
}

/** Reads imports and assignments; followed wherever they stand. */
export function readJavaScriptNames(root: Node, work: WorkBudget): JavaScriptNames {
  const imported = new Map<string, string>();
  const bound = new Map<string, Binding | undefined>();
  for (const node of root.descendantsOfType("import_statement"))
    if (node !== null) readImport(node, imported);
  for (const node of root.descendantsOfType(["variable_declarator", "assignment_expression"])) {
    const target = node?.childForFieldName("name") ?? node?.childForFieldName("left");
    const value = node?.childForFieldName("value") ?? node?.childForFieldName("right");
    work.spend(NODE_WORK);
    if (target && value) bind(target, value, [], bound);
  }
  const changing = [
    "augmented_assignment_expression",
    "update_expression",
    "formal_parameters",
    "for_in_statement",
  ];
  for (const node of root.descendantsOfType(changing)) {
    const target =
      node?.childForFieldName("left") ??
      node?.childForFieldName("argument") ??
      (node?.type === "formal_parameters" ? node : null);
    for (const name of target?.type === "identifier"
      ? [target]
      : (target?.descendantsOfType("identifier") ?? [])) {
      work.spend(NODE_WORK);
      if (name !== null) bound.set(name.text, undefined);
    }
  }
  return new Names(imported, bound, work);
}

function moduleName(text: string): string {
  return text.replace(/^node:/, "");
}

function readImport(node: Node, imported: Map<string, string>): void {
  const source = node.childForFieldName("source")?.text.slice(1, -1);
  const clause = node.namedChildren.find((child) => child?.type === "import_clause");
  if (source === undefined || !clause) return;
  const module = moduleName(source);
  for (const child of clause.namedChildren) {
    if (child?.type === "identifier") imported.set(child.text, module);
    else if (child?.type === "namespace_import") imported.set(child.namedChildren[0]?.text ?? "", module);
    else if (child?.type === "named_imports") {
      for (const specifier of child.namedChildren) {
        const name = specifier?.childForFieldName("name")?.text;
        const alias = specifier?.childForFieldName("alias")?.text ?? name;
        if (name !== undefined && alias !== undefined)
          imported.set(alias, name === "default" ? module : `${module}.${name}`);
      }
    }
  }
}

function bind(
  target: Node,
  value: Node,
  members: readonly string[],
  bound: Map<string, Binding | undefined>,
): void {
  if (target.type === "identifier" || target.type === "shorthand_property_identifier_pattern") {
    const path = target.type === "identifier" ? members : [...members, target.text];
    bound.set(target.text, bound.has(target.text) ? undefined : { value, members: path });
    return;
  }
  if (target.type !== "object_pattern") return;
  for (const child of target.namedChildren) {
    if (child?.type === "shorthand_property_identifier_pattern") bind(child, value, members, bound);
    if (child?.type !== "pair_pattern") continue;
    const key = child.childForFieldName("key")?.text;
    const inner = child.childForFieldName("value");
    if (key !== undefined && inner) bind(inner, value, [...members, key.replaceAll(/["']/g, "")], bound);
  }
}

class Names implements JavaScriptNames {
  private steps = 0;

  constructor(
    private readonly imported: ReadonlyMap<string, string>,
    private readonly bound: ReadonlyMap<string, Binding | undefined>,
    readonly work: WorkBudget,
  ) {}

  expressionOf(name: string): Node | undefined {
    const binding = this.bound.get(name);
    return binding?.members.length === 0 ? binding.value : undefined;
  }

  pathOf(node: Node): string | undefined {
    // A name may be given itself.
    if (this.steps >= MAX_STEPS) return undefined;
    this.work.spend(NODE_WORK);
    this.steps += 1;
    try {
      return this.read(node);
    } finally {
      this.steps -= 1;
    }
  }

  private read(node: Node): string | undefined {
    switch (node.type) {
      case "identifier":
        return this.identifier(node.text);
      case "member_expression":
        return this.member(node.childForFieldName("object"), node.childForFieldName("property")?.text);
      case "subscript_expression": {
        const index = node.childForFieldName("index");
        return this.member(
          node.childForFieldName("object"),
          index === null ? undefined : stringOf(index, this),
        );
      }
      case "parenthesized_expression":
      case "await_expression":
      case "non_null_expression":
      case "as_expression":
        return node.namedChildren[0] ? this.pathOf(node.namedChildren[0]) : undefined;
      case "sequence_expression": {
        const last = node.namedChildren.at(-1);
        return last ? this.pathOf(last) : undefined;
      }
      case "call_expression":
        return this.call(node);
      default:
        return undefined;
    }
  }

  private identifier(name: string): string | undefined {
    const binding = this.bound.get(name);
    const base = binding === undefined ? undefined : this.pathOf(binding.value);
    if (base !== undefined) return [base, ...binding!.members].join(".");
    return this.imported.get(name) ?? name;
  }

  private member(object: Node | null, name: string | undefined): string | undefined {
    const path = object === null ? undefined : this.pathOf(object);
    if (path === undefined) return undefined;
    if (name === "call" || name === "apply" || name === "bind" || name === "default" || name === "promises")
      return path;
    if (name === "require") return "require";
    return `${path}.${name ?? "?"}`;
  }

  /** `require("child_process")`, `import("…")`, `promisify(exec)`. */
  private call(node: Node): string | undefined {
    const target = node.childForFieldName("function");
    const first = node.childForFieldName("arguments")?.namedChildren[0];
    if (target === null || !first) return undefined;
    const path = target.type === "import" ? "import" : this.pathOf(target);
    if (path === "require" || path === "import" || path === "process.getBuiltinModule") {
      const name = stringOf(first, this);
      return name === undefined ? undefined : moduleName(name);
    }
    if (path === "util.promisify" || path === "promisify") return this.pathOf(first);
    // createRequire(…)("child_process")
    if (
      target.type === "call_expression" &&
      /createRequire$/.test(target.childForFieldName("function")?.text ?? "")
    ) {
      const name = stringOf(first, this);
      return name === undefined ? undefined : moduleName(name);
    }
    return undefined;
  }
}
