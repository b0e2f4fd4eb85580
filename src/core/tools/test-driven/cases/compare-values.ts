import { bytesOf, decimalOfNumber, isPlainObject, numberOf, partsOf } from "./encoded-values.js";

const MAX_DEPTH = 250;
/** Of a set: a hostile one must not keep this host busy. */
const MAX_COMPARISONS = 5_000_000;

/**
 * True when what a solution's process said is the expected value. The type counts: `true` is no 1. A list matches a list or
 * a tuple, and a set in any order; an object matches a dictionary, whose keys count as JSON would write them.
 */
export function isSameValue(expected: unknown, actual: unknown, tolerance = 0, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false;
  if (expected === null || expected === undefined) return actual === null || isUndefined(actual);
  if (typeof expected === "boolean" || typeof expected === "string")
    return actual === expected || isText(expected, actual);
  if (typeof expected === "number" || typeof expected === "bigint") {
    const number = numberOf(actual) ?? decimalOf(actual);
    return number !== undefined && isSameNumber(expected, number, tolerance);
  }
  if (expected instanceof Uint8Array) return bytesOf(actual)?.equals(expected) ?? false;
  const found = partsOf(actual);
  if (found === undefined) return false;
  const same = (one: unknown, other: unknown) => isSameValue(one, other, tolerance, depth + 1);
  if (Array.isArray(expected)) {
    return found.kind === "list"
      ? expected.length === found.parts.length &&
          expected.every((each, index) => same(each, found.parts[index]))
      : found.kind === "set" && haveSame(expected, found.parts, same);
  }
  if (expected instanceof Set) return found.kind === "set" && haveSame([...expected], found.parts, same);
  if (found.kind !== "dict") return false;
  const pairs = found.parts as readonly (readonly [unknown, unknown])[];
  if (expected instanceof Map) {
    return haveSame([...expected], pairs, (one, other) => same(one[0], other[0]) && same(one[1], other[1]));
  }
  if (!isPlainObject(expected)) return false;
  const byKey = new Map(pairs.map(([key, value]) => [keyText(key), value]));
  const keys = Object.keys(expected);
  return (
    keys.length === pairs.length && keys.every((key) => byKey.has(key) && same(expected[key], byKey.get(key)))
  );
}

function isSameNumber(expected: number | bigint, actual: number | bigint, tolerance: number): boolean {
  if (typeof expected === "bigint" && typeof actual === "bigint" && tolerance === 0)
    return expected === actual;
  if (Number.isNaN(expected)) return Number.isNaN(actual);
  // biome-ignore lint/suspicious/noDoubleEquals: a number and a bigint of the same value are the same
  if (expected == actual) return true;
  return tolerance > 0 && Math.abs(Number(expected) - Number(actual)) <= tolerance;
}

/** As many on both sides, and each expected one is there. */
function haveSame<T>(
  expected: readonly T[],
  actual: readonly T[],
  same: (one: T, other: T) => boolean,
): boolean {
  if (expected.length !== actual.length) return false;
  const rest = [...actual];
  let comparisons = 0;
  return expected.every((each) => {
    const found = rest.findIndex((other) => comparisons++ < MAX_COMPARISONS && same(each, other));
    if (found !== -1) rest.splice(found, 1);
    return found !== -1;
  });
}

/** A key as JSON would write it. */
function keyText(key: unknown): string | undefined {
  if (typeof key === "string") return key;
  if (key === null || typeof key === "boolean") return String(key);
  const number = numberOf(key);
  return number === undefined ? undefined : decimalOfNumber(number);
}

function isUndefined(value: unknown): boolean {
  return Array.isArray(value) && value[0] === "u";
}

/** Decimal numbers match numbers, and the text that they are written as. */
function decimalOf(value: unknown): number | undefined {
  const text = decimalText(value);
  return text === undefined ? undefined : Number(text);
}

function isText(expected: boolean | string, actual: unknown): boolean {
  return typeof expected === "string" && decimalText(actual) === expected;
}

function decimalText(value: unknown): string | undefined {
  if (!Array.isArray(value) || value[0] !== "k" || value[1] !== "decimal" || typeof value[2] !== "string")
    return undefined;
  return /^-?\d+(\.\d+)?$/.test(value[2]) ? value[2] : undefined;
}
