import type { Node } from "@vscode/tree-sitter-wasm";
import type { WorkBudget } from "../../../kit/parser/index.js";
import type { ShellOut } from "../shell-out.js";
import { type JavaScriptNames, readJavaScriptNames } from "./javascript-names.js";
import { stringOf, wordsOf } from "./javascript-values.js";

type Kind =
  | "text"
  /** Program, words, options: a text with `shell: true`. */
  | "program"
  /** A list as the first argument. */
  | "list"
  /** Options that hold the words: `{ cmd: [...] }`. */
  | "cmd"
  /** A template whose values are quoted. */
  | "template"
  | "code"
  /** The last argument is the code: `Function("a", "return a")`. */
  | "last-code";

const CHILD_PROCESS: readonly (readonly [string, Kind])[] = [
  ["exec", "text"],
  ["execSync", "text"],
  ["spawn", "program"],
  ["spawnSync", "program"],
  ["execFile", "program"],
  ["execFileSync", "program"],
];

const FUNCTIONS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...CHILD_PROCESS.flatMap(([name, kind]) => [
    [`child_process.${name}`, kind] as const,
    [`child_process.default.${name}`, kind] as const,
  ]),
  ["execa", "program"],
  ["execa.execa", "program"],
  ["execa.execaSync", "program"],
  ["execa.execaCommand", "text"],
  ["execa.execaCommandSync", "text"],
  ["execa.$", "template"],
  ["zx.$", "template"],
  ["bun.$", "template"],
  ["Bun.$", "template"],
  ["shelljs.exec", "text"],
  ["cross-spawn", "program"],
  ["cross-spawn.sync", "program"],
  ["Bun.spawn", "list"],
  ["Bun.spawnSync", "list"],
  ["Deno.run", "cmd"],
  ["Deno.Command", "program"],
  ["eval", "code"],
  ["globalThis.eval", "code"],
  ["Function", "last-code"],
  ["globalThis.Function", "last-code"],
  ["vm.runInThisContext", "code"],
  ["vm.runInNewContext", "code"],
  ["vm.runInContext", "code"],
  ["vm.Script", "code"],
]);

/** Every place where a JavaScript or TypeScript program starts another one, or runs a text as JavaScript. */
export function findJavaScriptShellOuts(root: Node, work: WorkBudget): ShellOut[] {
  const names = readJavaScriptNames(root, work);
  const found: ShellOut[] = [];
  for (const call of root.descendantsOfType(["call_expression", "new_expression"])) {
    const shellOut = call === null ? undefined : readCall(call, names);
    if (shellOut !== undefined) found.push(shellOut);
  }
  let looked = 0;
  for (const node of root.descendantsOfType(["identifier", "member_expression", "call_expression"])) {
    work.spend(NODE_WORK);
    if (looked > MAX_LOOKED) break;
    const last = node?.childForFieldName("property")?.text;
    const via = node === null || (last !== undefined && !LAST.has(last)) ? undefined : names.pathOf(node);
    if (node === null || via === undefined || !(via === "child_process" || FUNCTIONS.has(via))) continue;
    looked += 1;
    // Finding what stands around a place takes the longer the deeper it is.
    if (looked > MAX_LOOKED || isValue(node))
      found.push({ at: node.startIndex, via, kind: "argv", argv: [undefined] });
  }
  return found;
}

const MAX_LOOKED = 256;
const NODE_WORK = 200;
/** The last parts of the functions' names, and members that stand for the function itself. */
const LAST = new Set([
  ...[...FUNCTIONS.keys()].map((path) => path.split(".").at(-1)!),
  ...["default", "promises", "call", "apply", "bind"],
]);
/** Places where a function or module is handed on instead of being called, so that calls of it are not seen. */
const HANDING = new Set([
  "array",
  "pair",
  "return_statement",
  "spread_element",
  "assignment_pattern",
  "ternary_expression",
]);

function isValue(node: Node): boolean {
  const { parent } = node;
  if (parent === null) return false;
  if (parent.type === "parenthesized_expression" || parent.type === "await_expression")
    return isValue(parent);
  if (parent.type === "arguments")
    return !/promisify$/.test(parent.parent?.childForFieldName("function")?.text ?? "");
  if (parent.type === "pair") return parent.childForFieldName("value")?.equals(node) === true;
  if (parent.type === "arrow_function")
    return parent.childForFieldName("body")?.equals(node) === true && node.type !== "call_expression";
  if (parent.type === "assignment_expression")
    return (
      parent.childForFieldName("right")?.equals(node) === true &&
      parent.childForFieldName("left")?.type === "member_expression"
    );
  return HANDING.has(parent.type);
}

function readCall(call: Node, names: JavaScriptNames): ShellOut | undefined {
  const target = call.childForFieldName("function") ?? call.childForFieldName("constructor");
  const list = call.childForFieldName("arguments");
  if (target === null || list === null) return undefined;
  const via = names.pathOf(target);
  if (via === undefined) return undefined;
  const at = call.startIndex;
  if (via === "child_process.?") return { at, via, kind: "argv", argv: [undefined] };
  const kind = FUNCTIONS.get(via);
  if (kind === undefined) return undefined;
  const args =
    list.type === "template_string"
      ? [list]
      : list.namedChildren.filter((child) => child !== null && child.type !== "comment");
  return shellOut(kind, { at, via }, args as Node[], names);
}

function shellOut(
  kind: Kind,
  place: { at: number; via: string },
  args: readonly Node[],
  names: JavaScriptNames,
): ShellOut | undefined {
  const [first] = args;
  const text = (node: Node | undefined) => (node === undefined ? undefined : stringOf(node, names));
  switch (kind) {
    case "code":
      return { ...place, kind: "code", code: text(first) };
    case "last-code":
      return { ...place, kind: "code", code: text(args.at(-1)) };
    case "text":
    case "template":
      return { ...place, kind: "text", text: text(first) };
    case "list":
      return {
        ...place,
        kind: "argv",
        argv: (first && wordsOf(first, names)) ?? propertyWords(first, "cmd", names),
      };
    case "cmd":
      return { ...place, kind: "argv", argv: propertyWords(first, "cmd", names) };
    case "program":
      return program(place, args, names);
  }
}

function program(
  place: { at: number; via: string },
  args: readonly Node[],
  names: JavaScriptNames,
): ShellOut {
  const [first, second, third] = args;
  const name = first === undefined ? undefined : stringOf(first, names);
  const options = second?.type === "object" ? second : third;
  const words =
    second?.type === "object"
      ? property(second, "args") === undefined
        ? []
        : propertyWords(second, "args", names)
      : second === undefined || /function/.test(second.type)
        ? []
        : (wordsOf(second, names) ?? [undefined]);
  const shell = options === undefined ? undefined : property(options, "shell")?.type;
  if (shell !== undefined && shell !== "false") {
    const parts = [name, ...words];
    return { ...place, kind: "text", text: parts.includes(undefined) ? undefined : parts.join(" ") };
  }
  return { ...place, kind: "argv", argv: [name, ...words] };
}

function property(object: Node, name: string): Node | undefined {
  for (const pair of object.namedChildren) {
    const key = pair?.childForFieldName("key")?.text.replaceAll(/["']/g, "");
    const value = pair?.childForFieldName("value");
    if (key === name && value) return value;
  }
  return undefined;
}

function propertyWords(
  node: Node | undefined,
  name: string,
  names: JavaScriptNames,
): readonly (string | undefined)[] {
  const value = node?.type === "object" ? property(node, name) : undefined;
  return (value && wordsOf(value, names)) ?? [undefined];
}
