import type { Node } from "@vscode/tree-sitter-wasm";
import { loadGrammar, TooMuchWork, WorkBudget } from "../../../../kit/parser/index.js";

const MAX_WORK = 16_000_000;
/** What the runner gives code in place of the words that only modules know. */
const IMPORT = 'globalThis[Symbol.for("skerry.import")]';
const META = 'globalThis[Symbol.for("skerry.meta")]';

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Code as a REPL takes it: `import x from "y"` becomes a variable, `export` is left out, `import()` is the runner's. Lines keep
 * their numbers. What cannot be read stays as it is, for the interpreter to refuse.
 */
export async function rewriteModuleSyntax(
  code: string,
  grammar: "javascript" | "typescript",
): Promise<string> {
  if (!/\b(?:import|export)\b/.test(code)) return code;
  const { parse } = await loadGrammar(grammar);
  try {
    const tree = parse(code, new WorkBudget(MAX_WORK));
    try {
      const edits = tree.rootNode.hasError ? [] : editsOf(tree.rootNode, code);
      return apply(code, edits);
    } finally {
      tree.delete();
    }
  } catch (error) {
    if (error instanceof TooMuchWork) return code;
    throw error;
  }
}

function editsOf(root: Node, code: string): Edit[] {
  const edits: Edit[] = [];
  const waiting: Node[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const edit = editOf(node, code);
    if (edit !== undefined) edits.push(edit);
    if (node.type === "import_statement") continue;
    for (const child of node.children) if (child !== null) waiting.push(child);
  }
  return edits.sort((a, b) => a.start - b.start);
}

function editOf(node: Node, code: string): Edit | undefined {
  const { startIndex: start, endIndex: end } = node;
  // A namespace has exports of its own, which are TypeScript's.
  const isOfModule = node.parent?.type === "program";
  switch (node.type) {
    case "import_statement":
      if (!isOfModule) return undefined;
      return { start, end, text: withLines(declarationOf(node), code.slice(start, end)) };
    case "export_statement":
      return isOfModule ? exportEdit(node) : undefined;
    case "import":
      // As the function of a call; a statement's own word was dealt with.
      return node.parent?.type === "call_expression" ? { start, end, text: IMPORT } : undefined;
    case "meta_property":
      return node.text.replaceAll(/\s/g, "") === "import.meta" ? { start, end, text: META } : undefined;
    default:
      return undefined;
  }
}

/** Leaves the declaration, without the word in front of it; what declares no name, as an expression. */
function exportEdit(node: Node): Edit | undefined {
  const declaration = node.childForFieldName("declaration");
  const kept = declaration ?? node.childForFieldName("value");
  if (kept === null) return { start: node.startIndex, end: node.endIndex, text: "" };
  const isDefault = node.children.some((child) => child?.type === "default");
  const isNameless = declaration === null || declaration.childForFieldName("name") === null;
  return { start: node.startIndex, end: kept.startIndex, text: isDefault && isNameless ? "0, " : "" };
}

/** `import d, { a as b } from "m"` as a declaration of the same names. */
function declarationOf(statement: Node): string {
  const source = statement.childForFieldName("source");
  const clause = statement.namedChildren.find((child) => child?.type === "import_clause");
  // Types are gone when it runs.
  if (statement.children.some((child) => child?.type === "type")) return "";
  const required = statement.namedChildren.find((child) => child?.type === "import_require_clause");
  if (required !== undefined && required !== null) {
    const [name, path] = required.namedChildren;
    return `const ${name?.text} = require(${path?.text});`;
  }
  if (source === null) return statement.text;
  const module = `await ${IMPORT}(${source.text})`;
  if (clause === undefined || clause === null) return `${module};`;
  const names: string[] = [];
  let all: string | undefined;
  for (const part of clause.namedChildren) {
    if (part?.type === "identifier") names.push(`default: ${part.text}`);
    else if (part?.type === "namespace_import") all = part.namedChildren[0]?.text;
    else if (part?.type === "named_imports") names.push(...namesOf(part));
  }
  const picked = names.length > 0 || all === undefined ? `const { ${names.join(", ")} } = ` : "";
  if (all === undefined) return `${picked}${module};`;
  return `const ${all} = ${module};${names.length > 0 ? ` ${picked}${all};` : ""}`;
}

function namesOf(imports: Node): string[] {
  return imports.namedChildren.flatMap((specifier) => {
    if (specifier?.type !== "import_specifier") return [];
    if (specifier.children.some((child) => child?.type === "type")) return [];
    const name = specifier.childForFieldName("name")?.text ?? "";
    const alias = specifier.childForFieldName("alias")?.text;
    return alias === undefined ? [name] : [`${name}: ${alias}`];
  });
}

function withLines(text: string, original: string): string {
  return text + "\n".repeat(original.split("\n").length - text.split("\n").length);
}

function apply(code: string, edits: readonly Edit[]): string {
  let at = 0;
  let text = "";
  for (const edit of edits) {
    if (edit.start < at) continue;
    text += code.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + code.slice(at);
}
