import { withoutEscapes } from "../escapes.js";
import { type FlatTree, namedChildren } from "../flat-tree.js";
import { HOLE, MARKS, number, text, UNKNOWN, type Value } from "../value.js";

/** A string literal: its text, with what is interpolated put in where it is known. */
export function stringValue(tree: FlatTree, node: number, evaluate: (node: number) => Value): Value {
  let raw = false;
  let result = "";
  let marks = 0;
  for (let at = tree.first(node); at !== -1; at = tree.next(at)) {
    switch (tree.kind(at)) {
      case "string_start":
        raw = /r/i.test(tree.source(at).replace(/["']+$/, ""));
        break;
      case "string_content": {
        if (raw) result += tree.source(at);
        else {
          const plain = withoutEscapes(tree.source(at), true);
          result += plain.text;
          marks |= plain.marks;
        }
        break;
      }
      case "interpolation": {
        const inner = namedChildren(tree, at)[0];
        const value = inner === undefined ? UNKNOWN : evaluate(inner);
        result += value.texts[0] ?? (value.numbers[0] !== undefined ? String(value.numbers[0]) : HOLE);
        marks |= value.marks | (value.texts.length > 0 ? MARKS.built : 0);
        break;
      }
    }
  }
  return text(result, marks);
}

export function integerValue(source: string): Value {
  const digits = source.replaceAll("_", "").toLowerCase();
  if (digits.length > 400) return UNKNOWN;
  const value = Number(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return Number.isNaN(value) ? UNKNOWN : number(value);
}
