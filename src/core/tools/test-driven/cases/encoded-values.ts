import { SandboxError } from "../../../../kit/errors.js";

/**
 * A value as the runners inside send and take it. Null, booleans, text and small whole numbers are themselves; the rest is a
 * list that begins with a letter: see guest/runners/python/split-tests/split-values.py.
 */
export type Encoded = null | boolean | number | string | readonly unknown[];

const MAX_DEPTH = 200;

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A value of a case, for a runner. What has no counterpart inside is refused. */
export function encodeValue(value: unknown, depth = 0): Encoded {
  if (depth > MAX_DEPTH) throw invalid(`A value of a case is nested more than ${MAX_DEPTH} times`);
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (value === undefined) return ["u", 0];
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : ["f", numberText(value)];
  }
  if (typeof value === "bigint") return ["i", value < 0n ? `-${(-value).toString(16)}` : value.toString(16)];
  if (value instanceof Uint8Array) return ["b", Buffer.from(value).toString("base64")];
  const each = (one: unknown) => encodeValue(one, depth + 1);
  if (Array.isArray(value)) return ["l", value.map(each)];
  if (value instanceof Set) return ["s", [...value].map(each)];
  if (value instanceof Map) return ["d", [...value].map((pair) => pair.map(each))];
  if (isPlainObject(value)) return ["d", Object.entries(value).map(([key, one]) => [key, each(one)])];
  throw invalid(
    "A value of a case must be null, a boolean, number, text, bytes, list, set, map or plain object",
  );
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Object.is(value, -0) ? "-0.0" : String(value);
}

/** A number out of one of its forms; undefined: it is none. */
export function numberOf(value: unknown): number | bigint | undefined {
  if (typeof value === "number") return value;
  if (!Array.isArray(value) || typeof value[1] !== "string") return undefined;
  const [letter, text] = value as [unknown, string];
  if (letter === "i" && /^-?[0-9a-f]{1,1000000}$/.test(text)) {
    return text.startsWith("-") ? -BigInt(`0x${text.slice(1)}`) : BigInt(`0x${text}`);
  }
  if (letter !== "f") return undefined;
  if (text === "nan") return Number.NaN;
  if (text === "inf" || text === "-inf")
    return text === "inf" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text) ? Number(text) : undefined;
}

/** A whole number beyond this is long: to write it in decimal takes a host more than it is worth. */
const LONG = 1n << 20_000n;

/** A number as text; undefined: it is too long to read. */
export function decimalOfNumber(number: number | bigint): string | undefined {
  return typeof number === "bigint" && (number >= LONG || number <= -LONG) ? undefined : String(number);
}

/** The parts of a list, a set or a dictionary, whatever exactly it is; undefined: it is none. */
export function partsOf(
  value: unknown,
): { kind: "list" | "set" | "dict"; parts: readonly unknown[] } | undefined {
  if (!Array.isArray(value)) return undefined;
  const [letter, second, third, fourth] = value as unknown[];
  if ((letter === "l" || letter === "t") && Array.isArray(second)) return { kind: "list", parts: second };
  if ((letter === "s" || letter === "z") && Array.isArray(second)) return { kind: "set", parts: second };
  if ((letter === "d" || letter === "h") && Array.isArray(second) && second.every(isPair))
    return { kind: "dict", parts: second };
  if (letter !== "k") return undefined;
  if (second === "counter" || second === "ordered") return partsOf(third);
  if (second === "default") return partsOf(fourth);
  return second === "deque" || second === "keys" || second === "values" || second === "items"
    ? partsOf(third)
    : undefined;
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2;
}

/** Bytes out of their form; undefined: it is none. */
export function bytesOf(value: unknown): Buffer | undefined {
  if (!Array.isArray(value) || (value[0] !== "b" && value[0] !== "B") || typeof value[1] !== "string")
    return undefined;
  return Buffer.from(value[1], "base64");
}

function invalid(message: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, {
    hint: "Cases are data: JSON values, bytes, sets and maps.",
  });
}
