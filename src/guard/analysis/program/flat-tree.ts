import type { Language, Tree } from "@vscode/tree-sitter-wasm";

/**
 * A syntax tree copied into arrays, in document order: node i's first child is i + 1. Every question to the parser's own
 * tree crosses into WebAssembly, so each node is asked once.
 */
export interface FlatTree {
  readonly text: string;
  readonly size: number;
  /** There are more nodes than are looked at. */
  readonly truncated: boolean;
  /** The tree has a part that is no sentence of the language; the first such offset. */
  readonly errorAt: number | undefined;
  kind(node: number): string;
  /** For named nodes only, as `source` is: of a token only its kind is known, which is its text. */
  start(node: number): number;
  source(node: number): string;
  /** -1: none. */
  parent(node: number): number;
  next(node: number): number;
  first(node: number): number;
  /** The named child that plays this part; -1: none. */
  child(node: number, field: string): number;
  /** Is this child the one that plays the part in its parent? */
  plays(node: number, field: string): boolean;
  /** The first node behind this one's descendants. */
  after(node: number): number;
  isNamed(node: number): boolean;
}

const ERROR_KIND = 0xffff;
/** Some ten thousand lines. */
const MAX_NODES = 150_000;

export function flatten(tree: Tree, text: string): FlatTree {
  const { types, fields } = tree.language;
  const shapes = shapesOf(tree.language);
  const kinds: number[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  const roles: number[] = [];
  const parents: number[] = [];
  const siblings: number[] = [];
  const afters: number[] = [];
  const broken = tree.rootNode.hasError;
  let errorAt: number | undefined;
  const cursor = tree.walk();
  let parent = -1;
  let previous = -1;
  let truncated = false;
  walking: for (;;) {
    const node = kinds.length;
    if (node >= MAX_NODES) {
      truncated = true;
      for (let up = parent; up !== -1; up = parents[up]!) afters[up] = node;
      break;
    }
    const kind = cursor.nodeTypeId;
    const shape = shapes[kind] ?? INNER;
    kinds.push(kind);
    // A token is its kind, and what role it plays follows from its place.
    starts.push(shape === TOKEN ? -1 : cursor.startIndex);
    ends.push(shape === TOKEN ? -1 : cursor.endIndex);
    roles.push(shape === TOKEN ? 0 : cursor.currentFieldId);
    parents.push(parent);
    siblings.push(-1);
    afters.push(-1);
    if (previous !== -1) siblings[previous] = node;
    if (broken && errorAt === undefined && (kind === ERROR_KIND || cursor.nodeIsMissing)) {
      errorAt = cursor.startIndex;
    }
    if (shape === INNER && cursor.gotoFirstChild()) {
      parent = node;
      previous = -1;
      continue;
    }
    previous = node;
    afters[node] = kinds.length;
    while (!cursor.gotoNextSibling()) {
      if (!cursor.gotoParent()) break walking;
      previous = parent;
      afters[parent] = kinds.length;
      parent = parents[parent]!;
    }
  }
  cursor.delete();
  const roleIds = new Map(fields.map((name, id) => [name, id]));
  const child = (node: number, field: string): number => {
    const role = roleIds.get(field);
    if (role === undefined || node < 0) return -1;
    for (let at = first(node); at !== -1; at = siblings[at]!) if (roles[at] === role) return at;
    return -1;
  };
  const first = (node: number): number => (parents[node + 1] === node ? node + 1 : -1);
  return {
    text,
    size: kinds.length,
    truncated,
    errorAt: broken ? (errorAt ?? 0) : undefined,
    kind: (node) => types[kinds[node]!] ?? "ERROR",
    start: (node) => starts[node]!,
    source: (node) => (node < 0 ? "" : text.slice(starts[node]!, ends[node]!)),
    parent: (node) => parents[node] ?? -1,
    next: (node) => siblings[node] ?? -1,
    first,
    child,
    plays: (node, field) => roles[node] === roleIds.get(field),
    after: (node) => afters[node]!,
    isNamed: (node) => shapes[kinds[node]!] !== TOKEN,
  };
}

/** How much of a node has to be asked for. */
const TOKEN = 0;
const LEAF = 1;
const INNER = 2;

/** Named kinds whose parts are skipped. TypeScript's types run nothing; Python's annotations do. */
const LEAVES = new Set([
  ...[
    "type_annotation",
    "type_arguments",
    "type_parameters",
    "interface_declaration",
    "type_alias_declaration",
  ],
  ...[
    "object_type",
    "union_type",
    "generic_type",
    "array_type",
    "type_query",
    "literal_type",
    "type_predicate",
  ],
  ...["identifier", "integer", "float", "true", "false", "none", "comment", "string_start", "string_content"],
  ...["string_end", "property_identifier", "shorthand_property_identifier", "number", "string_fragment"],
  ...[
    "escape_sequence",
    "this",
    "null",
    "undefined",
    "type_identifier",
    "predefined_type",
    "regex",
    "import_prefix",
  ],
  ...[
    "shorthand_property_identifier_pattern",
    "private_property_identifier",
    "statement_identifier",
    "super",
  ],
  ...[
    "pass_statement",
    "break_statement",
    "continue_statement",
    "optional_chain",
    "empty_statement",
    "import",
  ],
]);

const knownShapes = new WeakMap<Language, readonly number[]>();

function shapesOf(language: Language): readonly number[] {
  const known = knownShapes.get(language);
  if (known !== undefined) return known;
  const shapes = language.types.map((name, id) => {
    if (!language.nodeTypeIsNamed(id)) return TOKEN;
    return LEAVES.has(name) ? LEAF : INNER;
  });
  knownShapes.set(language, shapes);
  return shapes;
}

/** The sign between the two sides of an operation; "": none. */
export function operatorOf(tree: FlatTree, operation: number): string {
  for (let at = tree.first(operation); at !== -1; at = tree.next(at))
    if (!tree.isNamed(at)) return tree.kind(at);
  return "";
}

/** The named children of a node, without comments; so many of them at most. */
export function namedChildren(tree: FlatTree, node: number, limit = Number.POSITIVE_INFINITY): number[] {
  const children: number[] = [];
  for (let at = tree.first(node); at !== -1 && children.length < limit; at = tree.next(at)) {
    if (tree.isNamed(at) && tree.kind(at) !== "comment") children.push(at);
  }
  return children;
}
