import type { ValueNotation } from "../../../../runtime/sandbox/index.js";
import { cutMiddle } from "../../replies/model-text.js";
import { bytesOf, decimalOfNumber, numberOf, partsOf } from "./encoded-values.js";

const MAX_CHARACTERS = 10_000;
const MAX_DEPTH = 250;
const MAX_PARTS = 1000;

/** A value as its language would write it, for people and models. Not more than so much of it. */
export function describeValue(value: unknown, words: ValueNotation): string {
  return cutMiddle(describe(value, words, 0), MAX_CHARACTERS);
}

function describe(value: unknown, words: ValueNotation, depth: number): string {
  if (depth > MAX_DEPTH) return "…";
  if (value === null) return words.null;
  if (typeof value === "boolean") return value ? words.true : words.false;
  if (typeof value === "string") return JSON.stringify(value);
  const number = numberOf(value);
  if (number !== undefined) return describeNumber(number, value, words);
  const bytes = bytesOf(value);
  if (bytes !== undefined) return words.bytes(bytes);
  const found = partsOf(value);
  const each = (part: unknown) => describe(part, words, depth + 1);
  if (found !== undefined) {
    const more = found.parts.length > MAX_PARTS ? `, … ${found.parts.length - MAX_PARTS} more` : "";
    if (found.kind === "dict") {
      const pairs = (found.parts as (readonly unknown[])[])
        .slice(0, MAX_PARTS)
        .map(([key, one]) => `${each(key)}: ${each(one)}`);
      return `{${pairs.join(", ")}${more}}`;
    }
    const isTuple = Array.isArray(value) && value[0] === "t";
    const [open, close] = found.kind === "set" ? words.set : isTuple ? words.tuple : ["[", "]"];
    const parts = `${found.parts.slice(0, MAX_PARTS).map(each).join(", ")}${more}`;
    if (found.kind === "set" && parts === "") return words.emptySet;
    return `${open}${parts}${isTuple && found.parts.length === 1 ? words.tupleOfOne : ""}${close}`;
  }
  return describeOther(value, each);
}

function describeNumber(number: number | bigint, value: unknown, words: ValueNotation): string {
  if (Number.isNaN(number)) return words.nan;
  if (number === Number.POSITIVE_INFINITY) return words.inf;
  if (number === Number.NEGATIVE_INFINITY) return `-${words.inf}`;
  const isWholeFloat = Array.isArray(value) && value[0] === "f" && Number.isInteger(number);
  if (isWholeFloat && Math.abs(Number(number)) < 1e16) return `${number}${words.wholeFloat}`;
  return decimalOfNumber(number) ?? describeLong(number as bigint);
}

function describeLong(number: bigint): string {
  const digits = (number < 0n ? -number : number).toString(16);
  return `${number < 0n ? "-" : ""}0x${digits.slice(0, 100)}… (${digits.length} hexadecimal digits)`;
}

/** What is only shown: an object by its own words, a kind of value by its name. */
function describeOther(value: unknown, each: (part: unknown) => string): string {
  if (!Array.isArray(value)) return "…";
  const [letter, name, ...more] = value as unknown[];
  if (letter === "u") return "undefined";
  if (letter === "o") return typeof more[0] === "string" ? more[0] : `<${String(name)}>`;
  if (letter === "k") return `${String(name)}(${more.map(each).join(", ")})`;
  return "…";
}
