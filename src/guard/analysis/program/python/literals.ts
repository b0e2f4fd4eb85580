import { withoutEscapes } from "../escapes.js";
import { type FlatTree, namedChildren } from "../flat-tree.js";
import { written } from "../folding.js";
import { joined, MARKS, marksOf, number, text, UNKNOWN, type Value } from "../value.js";

/** A string literal: its text, with what is interpolated put in where it is known. */
export function stringValue(tree: FlatTree, node: number, evaluate: (node: number) => Value): Value {
  let raw = false;
  let marks = 0;
  const parts: Value[] = [];
  for (let at = tree.first(node); at !== -1; at = tree.next(at)) {
    switch (tree.kind(at)) {
      case "string_start":
        raw = /r/i.test(tree.source(at).replace(/["']+$/, ""));
        break;
      case "string_content": {
        const plain = raw ? { text: tree.source(at), marks: 0 } : withoutEscapes(tree.source(at), true);
        parts.push(text(plain.text));
        marks |= plain.marks;
        break;
      }
      case "interpolation": {
        // With a conversion or a format it is written in another way.
        const [inner, ...formats] = namedChildren(tree, at);
        const value = inner === undefined ? UNKNOWN : evaluate(inner);
        const plain = formats.length === 0 && !/=\s*\}$/.test(tree.source(at));
        parts.push(plain ? written(value) : { ...UNKNOWN, marks: value.marks });
        marks |= value.texts.length > 0 ? MARKS.built : 0;
        break;
      }
    }
  }
  const whole = joined(parts, "");
  return { ...whole, marks: (whole.marks & ~MARKS.built) | marks | (marksOf(parts) & MARKS.built) };
}

export function integerValue(source: string): Value {
  const digits = source.replaceAll("_", "").toLowerCase();
  if (digits.length > 400) return UNKNOWN;
  const value = Number(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return Number.isNaN(value) ? UNKNOWN : number(value);
}
