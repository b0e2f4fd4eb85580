import type { Node } from "@vscode/tree-sitter-wasm";
import { UNKNOWN } from "../shell/fields.js";
import type { JavaScriptNames } from "./javascript-names.js";

const MAX_DEPTH = 24;
/** Asking a node crosses into the parser's memory. */
const NODE_WORK = 200;
const MAX_LENGTH = 262_144;

/** The constant text of an expression, with unknown places; undefined when nothing of it is known. */
export function stringOf(node: Node, names: JavaScriptNames, depth = 0): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  names.work.spend(NODE_WORK);
  const value = read(node, names, depth + 1);
  names.work.spend((value?.length ?? 0) / 4);
  return value !== undefined && value.length <= MAX_LENGTH ? value : undefined;
}

/** The words of an array; undefined for anything else. */
export function wordsOf(node: Node, names: JavaScriptNames, depth = 0): (string | undefined)[] | undefined {
  if (depth > MAX_DEPTH) return undefined;
  names.work.spend(NODE_WORK);
  switch (node.type) {
    case "array":
      return node.namedChildren.flatMap((child) => {
        if (child === null || child.type === "comment") return [];
        return [child.type === "spread_element" ? undefined : stringOf(child, names, depth + 1)];
      });
    case "identifier": {
      const value = names.expressionOf(node.text);
      return value === undefined ? undefined : wordsOf(value, names, depth + 1);
    }
    case "call_expression": {
      const { subject, method, args } = methodCall(node);
      if (method !== "split" || subject === undefined || args[0] === undefined) return undefined;
      const text = stringOf(subject, names, depth + 1);
      const separator = stringOf(args[0], names, depth + 1);
      return text === undefined || separator === undefined ? undefined : text.split(separator);
    }
    default:
      return undefined;
  }
}

function read(node: Node, names: JavaScriptNames, depth: number): string | undefined {
  switch (node.type) {
    case "string":
      return pieces(node, names, depth);
    case "template_string":
      return pieces(node, names, depth);
    case "parenthesized_expression":
    case "as_expression":
      return node.namedChildren[0] ? stringOf(node.namedChildren[0], names, depth) : undefined;
    case "identifier": {
      const value = names.expressionOf(node.text);
      return value === undefined ? undefined : stringOf(value, names, depth);
    }
    case "binary_expression":
      return binary(node, names, depth);
    case "call_expression":
      return call(node, names, depth);
    default:
      return undefined;
  }
}

function pieces(node: Node, names: JavaScriptNames, depth: number): string {
  let text = "";
  for (const child of node.children) {
    if (child?.type === "string_fragment") text += child.text;
    else if (child?.type === "escape_sequence") text += unescapeText(child.text);
    else if (child?.type === "template_substitution") {
      const inner = child.namedChildren[0];
      text += (inner ? stringOf(inner, names, depth) : undefined) ?? UNKNOWN;
    }
  }
  return text;
}

function binary(node: Node, names: JavaScriptNames, depth: number): string | undefined {
  if (node.childForFieldName("operator")?.text !== "+") return undefined;
  const left = node.childForFieldName("left");
  const right = node.childForFieldName("right");
  const before = left === null ? undefined : stringOf(left, names, depth);
  const after = right === null ? undefined : stringOf(right, names, depth);
  return before === undefined && after === undefined ? undefined : `${before ?? UNKNOWN}${after ?? UNKNOWN}`;
}

function methodCall(node: Node): { subject: Node | undefined; method: string; args: Node[] } {
  const target = node.childForFieldName("function");
  const args = (node.childForFieldName("arguments")?.namedChildren ?? []).filter((child) => child !== null);
  const subject = target?.type === "member_expression" ? target.childForFieldName("object") : null;
  return {
    subject: subject ?? undefined,
    method: target?.childForFieldName("property")?.text ?? target?.text ?? "",
    args,
  };
}

/** `["cu", "rl"].join("")`, `String.fromCharCode(99)`, `atob("…")`, `Buffer.from("…", "base64").toString()`. */
function call(node: Node, names: JavaScriptNames, depth: number): string | undefined {
  const { subject, method, args } = methodCall(node);
  const text = args[0] === undefined ? undefined : stringOf(args[0], names, depth);
  if (method === "atob") return text === undefined ? undefined : Buffer.from(text, "base64").toString("utf8");
  if (method === "fromCharCode" || method === "fromCodePoint") {
    const codes = args.map((arg) => (arg.type === "number" ? Number(arg.text) : Number.NaN));
    return codes.every((code) => code >= 0 && code <= 0x10ffff)
      ? String.fromCodePoint(...codes.map(Math.floor))
      : undefined;
  }
  if (subject === undefined) return undefined;
  if (method === "from" && subject.text === "Buffer") {
    const encoding = args[1] === undefined ? "utf8" : stringOf(args[1], names, depth);
    if (text === undefined || !(encoding === "base64" || encoding === "hex" || encoding === "utf8"))
      return undefined;
    return Buffer.from(text, encoding).toString("utf8");
  }
  if (method === "join") {
    const words = wordsOf(subject, names, depth);
    const separator = args[0] === undefined ? "," : text;
    return separator === undefined ? undefined : words?.map((word) => word ?? UNKNOWN).join(separator);
  }
  const value = stringOf(subject, names, depth);
  if (method === "toString" || method === "trim") return value;
  return method === "concat" && value !== undefined ? value + (text ?? UNKNOWN) : undefined;
}

const SIMPLE: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  v: "\v",
  "0": "\0",
};

function unescapeText(sequence: string): string {
  const body = sequence.slice(1);
  const number = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\})$/.exec(body);
  if (number !== null) {
    const code = Number.parseInt(number[1] ?? number[2] ?? number[3] ?? "0", 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : UNKNOWN;
  }
  if (/^\r?\n$/.test(body)) return "";
  return Object.hasOwn(SIMPLE, body) ? SIMPLE[body]! : body;
}
