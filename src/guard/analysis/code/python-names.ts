import type { Node } from "@vscode/tree-sitter-wasm";
import type { WorkBudget } from "../../../kit/parser/index.js";
import { stringOf } from "./python-values.js";

const MAX_STEPS = 24;
/** Asking a node crosses into the parser's memory. */
const NODE_WORK = 200;
/** Modules whose names a star import makes known. */
const STARS: Readonly<Record<string, readonly string[]>> = {
  os: [
    "system",
    "popen",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "execl",
    "execle",
    "execlp",
    "execlpe",
    "spawnv",
    "spawnl",
    "spawnvp",
    "spawnlp",
    "posix_spawn",
  ],
  subprocess: ["run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput"],
  pty: ["spawn"],
};

/** What the names of a program stand for. */
export interface PythonNames {
  readonly work: WorkBudget;
  /** The dotted path that an expression names: "os.system"; "os.?" when its last part is known only when it runs. */
  pathOf(node: Node): string | undefined;
  /** The expression a name was given, if it was given only one. */
  expressionOf(name: string): Node | undefined;
}

/** Reads imports and assignments; followed wherever they stand. */
export function readPythonNames(root: Node, work: WorkBudget): PythonNames {
  const imported = new Map<string, string>();
  const assigned = new Map<string, Node | undefined>();
  readImports(root, imported, work);
  for (const node of root.descendantsOfType(["assignment", "named_expression"])) {
    work.spend(NODE_WORK);
    if (node !== null) readAssignment(node, assigned);
  }
  forgetOtherTargets(root, assigned, work);
  return new Names(imported, assigned, work);
}

function readImports(root: Node, imported: Map<string, string>, work: WorkBudget): void {
  for (const node of root.descendantsOfType("import_statement")) {
    for (const name of node?.childrenForFieldName("name") ?? []) {
      work.spend(NODE_WORK);
      if (name === null) continue;
      const { path, alias } = imports(name);
      imported.set(alias ?? path.split(".")[0]!, alias === undefined ? path.split(".")[0]! : path);
    }
  }
  for (const node of root.descendantsOfType("import_from_statement")) {
    const module = node?.childForFieldName("module_name")?.text;
    if (node === null || module === undefined) continue;
    for (const name of node.childrenForFieldName("name")) {
      work.spend(NODE_WORK);
      if (name === null) continue;
      const { path, alias } = imports(name);
      imported.set(alias ?? path, `${module}.${path}`);
    }
    const isStar = node.namedChildren.some((child) => child?.type === "wildcard_import");
    if (isStar && Object.hasOwn(STARS, module)) {
      for (const name of STARS[module]!) imported.set(name, `${module}.${name}`);
    }
  }
}

function imports(node: Node): { path: string; alias: string | undefined } {
  const alias = node.childForFieldName("alias")?.text;
  return { path: node.childForFieldName("name")?.text ?? node.text, alias };
}

function readAssignment(node: Node, assigned: Map<string, Node | undefined>): void {
  const name = node.childForFieldName("left") ?? node.childForFieldName("name");
  const value = node.childForFieldName("right") ?? node.childForFieldName("value");
  if (name?.type !== "identifier" || value === null) return;
  const isSecond = assigned.has(name.text);
  assigned.set(name.text, isSecond ? undefined : value);
}

const OTHER_TARGETS = [
  "parameters",
  "lambda_parameters",
  "pattern_list",
  "tuple_pattern",
  "list_pattern",
  "as_pattern_target",
  "case_pattern",
  "global_statement",
  "nonlocal_statement",
  "delete_statement",
];

/** A name that is also set in any other way than by one "=" is unknown. */
function forgetOtherTargets(root: Node, assigned: Map<string, Node | undefined>, work: WorkBudget): void {
  const forget = (node: Node | null | undefined) => {
    if (!node) return;
    for (const name of node.type === "identifier" ? [node] : node.descendantsOfType("identifier")) {
      work.spend(NODE_WORK);
      if (name !== null) assigned.set(name.text, undefined);
    }
  };
  for (const node of root.descendantsOfType(["augmented_assignment", "for_statement", "for_in_clause"])) {
    forget(node?.childForFieldName("left"));
  }
  for (const node of root.descendantsOfType(OTHER_TARGETS)) forget(node);
}

class Names implements PythonNames {
  private steps = 0;

  constructor(
    private readonly imported: ReadonlyMap<string, string>,
    private readonly assigned: ReadonlyMap<string, Node | undefined>,
    readonly work: WorkBudget,
  ) {}

  expressionOf(name: string): Node | undefined {
    return this.assigned.get(name);
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
      case "identifier": {
        const value = this.assigned.get(node.text);
        const named = value === undefined ? undefined : this.pathOf(value);
        return named ?? this.imported.get(node.text) ?? node.text;
      }
      case "attribute":
        return this.member(node.childForFieldName("object"), node.childForFieldName("attribute")?.text);
      case "parenthesized_expression":
        return node.namedChildren[0] ? this.pathOf(node.namedChildren[0]) : undefined;
      case "subscript":
        return this.subscript(node);
      case "call":
        return this.call(node);
      default:
        return undefined;
    }
  }

  private member(object: Node | null, name: string | undefined): string | undefined {
    const path = object === null ? undefined : this.pathOf(object);
    if (path === undefined) return undefined;
    if (path === "sys.modules" || path === "globals()" || path === "locals()" || path === "vars()") {
      return name === undefined ? undefined : (this.imported.get(name) ?? name);
    }
    if (name === "__dict__" || name === "__call__") return path;
    return `${path.replace(/^__builtins__$/, "builtins")}.${name ?? "?"}`;
  }

  /** `vars(os)["system"]`, `sys.modules["os"]`, `globals()["os"]`. */
  private subscript(node: Node): string | undefined {
    const index = node.childForFieldName("subscript");
    const key = index === null ? undefined : stringOf(index, this);
    return this.member(node.childForFieldName("value"), key);
  }

  /** `__import__("os")`, `importlib.import_module("os")`, `getattr(os, "system")`. */
  private call(node: Node): string | undefined {
    const target = node.childForFieldName("function");
    const path = target === null ? undefined : this.pathOf(target);
    const args = node.childForFieldName("arguments")?.namedChildren ?? [];
    const [first, second] = args;
    if (
      path === "__import__" ||
      path === "builtins.__import__" ||
      path === "importlib.import_module" ||
      path === "importlib.__import__"
    ) {
      return first ? stringOf(first, this) : undefined;
    }
    if (path === "getattr" && first && second) return this.member(first, stringOf(second, this));
    if (path === "vars" && first) return this.pathOf(first);
    return path === "globals" || path === "locals" || path === "vars" ? `${path}()` : undefined;
  }
}
