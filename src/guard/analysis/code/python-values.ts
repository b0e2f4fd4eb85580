import type { Node } from "@vscode/tree-sitter-wasm";
import { UNKNOWN } from "../shell/fields.js";
import type { PythonNames } from "./python-names.js";

const MAX_DEPTH = 24;
/** Asking a node crosses into the parser's memory. */
const NODE_WORK = 200;
const MAX_LENGTH = 65_536;

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
};

/** The constant text of an expression, with unknown places; undefined when nothing of it is known. */
export function stringOf(node: Node, names: PythonNames, depth = 0): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  names.work.spend(NODE_WORK);
  const value = read(node, names, depth + 1);
  names.work.spend((value?.length ?? 0) / 4);
  return value !== undefined && value.length <= MAX_LENGTH ? value : undefined;
}

/** The words of a list or tuple; undefined for anything else. */
export function wordsOf(node: Node, names: PythonNames, depth = 0): (string | undefined)[] | undefined {
  if (depth > MAX_DEPTH) return undefined;
  names.work.spend(NODE_WORK);
  switch (node.type) {
    case "list":
    case "tuple":
      return node.namedChildren.flatMap((child) => {
        if (child === null || child.type === "comment") return [];
        return [child.type === "list_splat" ? undefined : stringOf(child, names, depth + 1)];
      });
    case "parenthesized_expression":
      return node.namedChildren[0] ? wordsOf(node.namedChildren[0], names, depth + 1) : undefined;
    case "identifier": {
      const value = names.expressionOf(node.text);
      return value === undefined ? undefined : wordsOf(value, names, depth + 1);
    }
    case "binary_operator": {
      const left = side(node, "left", (child) => wordsOf(child, names, depth + 1));
      const right = side(node, "right", (child) => wordsOf(child, names, depth + 1));
      if (left === undefined && right === undefined) return undefined;
      return [...(left ?? [undefined]), ...(right ?? [undefined])];
    }
    case "call":
      return splitCall(node, names, depth);
    default:
      return undefined;
  }
}

function side<T>(node: Node, field: "left" | "right", of: (child: Node) => T | undefined): T | undefined {
  const child = node.childForFieldName(field);
  return child === null ? undefined : of(child);
}

/** `"curl x".split()` and `shlex.split("curl x")`. */
function splitCall(node: Node, names: PythonNames, depth: number): string[] | undefined {
  const target = node.childForFieldName("function");
  const first = node.childForFieldName("arguments")?.namedChildren[0];
  if (target?.type !== "attribute" || target.childForFieldName("attribute")?.text !== "split")
    return undefined;
  const object = target.childForFieldName("object");
  const isShlex = object?.text === "shlex";
  const subject = isShlex ? first : object;
  const text = subject ? stringOf(subject, names, depth + 1) : undefined;
  if (text === undefined || (!isShlex && first)) return undefined;
  return text
    .replaceAll(/["'\\]/g, isShlex ? "" : "$&")
    .split(/\s+/)
    .filter((word) => word !== "");
}

function read(node: Node, names: PythonNames, depth: number): string | undefined {
  switch (node.type) {
    case "string":
      return literal(node, names, depth);
    case "concatenated_string":
      return node.namedChildren
        .map((child) => (child ? (stringOf(child, names, depth) ?? UNKNOWN) : ""))
        .join("");
    case "parenthesized_expression":
    case "type":
      return node.namedChildren[0] ? stringOf(node.namedChildren[0], names, depth) : undefined;
    case "named_expression":
      return valueField(node, names, depth);
    case "identifier": {
      const value = names.expressionOf(node.text);
      return value === undefined ? undefined : stringOf(value, names, depth);
    }
    case "binary_operator":
      return binary(node, names, depth);
    case "call":
      return call(node, names, depth);
    case "subscript":
      return slice(node, names, depth);
    default:
      return undefined;
  }
}

function valueField(node: Node, names: PythonNames, depth: number): string | undefined {
  const value = node.childForFieldName("value");
  return value === null ? undefined : stringOf(value, names, depth);
}

function binary(node: Node, names: PythonNames, depth: number): string | undefined {
  const operator = node.childForFieldName("operator")?.text;
  const left = side(node, "left", (child) => stringOf(child, names, depth));
  const right = side(node, "right", (child) => stringOf(child, names, depth));
  if (operator === "%") return filled(left, /%[sr]/g, right ?? UNKNOWN);
  if (operator !== "+" || (left === undefined && right === undefined)) return undefined;
  return `${left ?? UNKNOWN}${right ?? UNKNOWN}`;
}

/** `"".join([...])`, `chr(99)`, `b"…".decode()`, `base64.b64decode("…")` and the like. */
function call(node: Node, names: PythonNames, depth: number): string | undefined {
  const target = node.childForFieldName("function");
  if (target === null) return undefined;
  const args = (node.childForFieldName("arguments")?.namedChildren ?? []).filter((child) => child !== null);
  const first = args[0];
  const text = first === undefined ? undefined : stringOf(first, names, depth);
  const path = names.pathOf(target);
  if (path === "chr" && first?.type === "integer")
    return String.fromCodePoint(Math.min(Number(first.text) || 0, 0x10ffff));
  if (path === "str" || path === "bytes") return text;
  if (path === "base64.b64decode" || path === "base64.decodebytes") return decode(text, "base64");
  if (path === "bytes.fromhex" || path === "binascii.unhexlify")
    return decode(text?.replaceAll(/\s/g, ""), "hex");
  if (target.type !== "attribute") return undefined;
  const object = target.childForFieldName("object");
  const subject = object === null ? undefined : stringOf(object, names, depth);
  switch (target.childForFieldName("attribute")?.text) {
    case "join": {
      const words = first === undefined ? undefined : wordsOf(first, names, depth);
      return subject === undefined ? undefined : words?.map((word) => word ?? UNKNOWN).join(subject);
    }
    case "decode":
    case "encode":
    case "strip":
      return subject;
    case "format":
      return filled(subject, /\{[^{}]{0,64}\}/g, text !== undefined && args.length === 1 ? text : UNKNOWN);
    case "replace": {
      const second = args[1] === undefined ? undefined : stringOf(args[1], names, depth);
      return text === undefined || second === undefined ? undefined : filled(subject, text, second);
    }
    default:
      return undefined;
  }
}

/** The text with a value in each place, unless that makes it too long. */
function filled(text: string | undefined, place: RegExp | string, value: string): string | undefined {
  if (text === undefined) return undefined;
  const places = typeof place === "string" ? text.split(place).length : (text.match(place)?.length ?? 0);
  return text.length + places * value.length > MAX_LENGTH ? undefined : text.replaceAll(place, () => value);
}

function decode(text: string | undefined, encoding: "base64" | "hex"): string | undefined {
  return text === undefined ? undefined : Buffer.from(text, encoding).toString("utf8");
}

/** `"lruc"[::-1]`. */
function slice(node: Node, names: PythonNames, depth: number): string | undefined {
  const value = valueField(node, names, depth);
  const index = node.childForFieldName("subscript");
  return index?.text.replaceAll(/\s/g, "") === "::-1" && value !== undefined
    ? [...value].reverse().join("")
    : undefined;
}

function literal(node: Node, names: PythonNames, depth: number): string {
  const prefix = (node.children[0]?.text ?? "").toLowerCase();
  const raw = prefix.includes("r");
  const formatted = prefix.includes("f");
  let text = "";
  for (const child of node.children) {
    if (child?.type === "string_content") text += content(child, raw, formatted);
    else if (child?.type === "interpolation") {
      const expression = child.childForFieldName("expression");
      text += (expression === null ? undefined : stringOf(expression, names, depth)) ?? UNKNOWN;
    }
  }
  return text;
}

function content(node: Node, raw: boolean, formatted: boolean): string {
  const text = formatted ? node.text.replaceAll("{{", "{").replaceAll("}}", "}") : node.text;
  return raw ? text : unescapeText(text);
}

const ESCAPE =
  /\\(?:\r?\n|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|N\{[^}]{0,80}\}|([\s\S]))/g;

function unescapeText(text: string): string {
  return text.replace(ESCAPE, (all, hex, short, long, octal, other) => {
    const number = hex ?? short ?? long;
    if (number !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(number, 16), 0x10ffff));
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
    if (other !== undefined) return Object.hasOwn(ESCAPES, other) ? ESCAPES[other]! : all;
    return all.startsWith("\\N") ? UNKNOWN : "";
  });
}
