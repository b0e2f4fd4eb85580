import { combined, list, MARKS, mapTexts, orHole, text, UNKNOWN, type Value } from "./value.js";

const MAX_RESULT = 16_384;
const MAX_COUNT = 4096;
const MAX_PARTS = 1024;
const MAX_REPLACEMENT = 256;
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything but ASCII
const PLAIN = /^[\x00-\x7f]*$/;

/** What is decoded from base64 or hex; undefined: a language may read it in another way. */
function decodedText(source: string, encoding: "base64" | "base64url" | "hex"): string | undefined {
  const given = source.replace(/[\r\n]/g, "");
  const alphabet =
    encoding === "hex"
      ? /^(?:[0-9a-f]{2})*$/i
      : encoding === "base64"
        ? /^[A-Za-z0-9+/]*={0,2}$/
        : /^[\w-]*={0,2}$/;
  if (!alphabet.test(given)) return undefined;
  const bytes = Buffer.from(given, encoding);
  const result = bytes.toString("utf8");
  // Bytes above ASCII are other letters to who reads them as Latin-1.
  return PLAIN.test(result) ? result : undefined;
}

/** A value decoded by a function. */
export function decodedBy(value: Value | undefined, encoding: "base64" | "base64url" | "hex"): Value {
  return mapTexts(value ?? UNKNOWN, (one) => decodedText(one, encoding), MARKS.decoded);
}

/** Text as bytes or bytes as text: only plain letters are the same in the usual encodings, and none in others. */
export function transcoded(self: Value, encoding: Value | undefined): Value {
  const plain =
    encoding === undefined ||
    (encoding.texts.length > 0 &&
      encoding.texts.every((one) => /^(?:utf-?8|ascii|latin-?1|binary)$/i.test(one)));
  if (!plain) return { ...UNKNOWN, marks: self.marks | MARKS.decoded };
  return self.texts.every((one) => PLAIN.test(one)) ? self : { ...self, marks: self.marks | MARKS.partial };
}

/** The parts of a text; a list of one alternative only is followed. */
export function split(self: Value, by: string | RegExp): Value {
  const [one, ...others] = self.texts;
  if (one === undefined) return { ...UNKNOWN, marks: self.marks };
  const parts = (source: string) => source.split(by, MAX_PARTS + 1);
  const marks = others.length > 0 ? self.marks | MARKS.partial : self.marks;
  return list(
    parts(one).map((part) => text(part, marks)),
    marks,
  );
}

/** A text with another in place of a third; `times`: so often at most. */
export function replaced(self: Value, [from, to]: readonly Value[], times: number): Value {
  if (from === undefined) return { ...UNKNOWN, marks: self.marks };
  return combined(
    [{ ...self, numbers: [] }, { ...from, numbers: [] }, orHole(to)],
    (whole, what, by) => {
      const [source, put] = [String(whole), String(by)];
      if (what === "" || put.length > MAX_REPLACEMENT) return undefined;
      const parts = source.split(String(what), MAX_PARTS + 1);
      if (parts.length > MAX_PARTS || source.length + parts.length * put.length > MAX_RESULT)
        return undefined;
      const head = parts.slice(0, Math.min(parts.length, times) + 1);
      const rest = parts.slice(head.length);
      return head.join(put) + rest.map((part) => String(what) + part).join("");
    },
    MARKS.built,
  );
}

/** A text so many times. */
export function repeated(self: Value, count: Value | undefined): Value {
  return combined(
    [
      { ...self, numbers: [] },
      { ...(count ?? UNKNOWN), texts: [] },
    ],
    (one, times) => {
      const [source, often] = [String(one), Math.trunc(Number(times))];
      if (often > MAX_COUNT || source.length * often > MAX_RESULT) return undefined;
      return source.repeat(Math.max(0, often));
    },
  );
}

/** Letters by their numbers. */
export function letters(code: Value | undefined, letterOf: (code: number) => string | undefined): Value {
  const numbers = { ...(code ?? UNKNOWN), texts: [] };
  return combined([numbers], (one) => letterOf(Number(one)), MARKS.decoded);
}

/** A letter by its number in Unicode. */
export function letter(code: number): string | undefined {
  return Number.isInteger(code) && code >= 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

/** Bytes by their numbers. */
export function bytesOf(value: Value): Value {
  const codes = (value.items ?? []).map((item) =>
    letters(item, (code) => (code <= 0x7f ? letter(code) : undefined)),
  );
  if (codes.some(({ texts, marks }) => texts.length !== 1 || (marks & MARKS.partial) !== 0))
    return { ...UNKNOWN, marks: value.marks | MARKS.decoded };
  return text(codes.map(({ texts }) => texts[0]).join(""), value.marks | MARKS.decoded);
}

/** A number out of its digits; undefined where languages read them in other ways. */
export function parsed(digits: string, base: number): number | undefined {
  const plain = digits
    .trim()
    .toLowerCase()
    .replace(base === 16 ? /^0x/ : /^$/, "");
  if (!/^[+-]?[0-9a-z]{1,15}$/.test(plain) || base < 2 || base > 36) return undefined;
  const result = Number.parseInt(plain, base);
  const known = [...plain.replace(/^[+-]/, "")].every((digit) => Number.parseInt(digit, 36) < base);
  return known ? result : undefined;
}

/** Two numbers under an operator, for every alternative; undefined: they are not numbers. */
export function calculated(operator: string, left: Value, right: Value, python: boolean): Value | undefined {
  if (left.numbers.length === 0 || right.numbers.length === 0) return undefined;
  if (left.texts.length + right.texts.length > 0) return undefined;
  return combined([left, right], (a, b) => calculate(operator, Number(a), Number(b), python));
}

function calculate(operator: string, a: number, b: number, python: boolean): number | undefined {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "**":
      return a ** b;
    case "//":
      return Math.floor(a / b);
    case "/":
      return a / b;
    case "%":
      return python ? ((a % b) + b) % b : a % b;
  }
  // Bits of JavaScript's numbers are 32; Python's have no end.
  if (python && (Math.abs(a) > 2 ** 31 - 1 || Math.abs(b) > 2 ** 31 - 1)) return undefined;
  switch (operator) {
    case "^":
      return a ^ b;
    case "|":
      return a | b;
    case "&":
      return a & b;
    case "<<":
      return python ? (b >= 0 && b < 1000 ? a * 2 ** b : undefined) : a << b;
    case ">>":
      return python ? (b >= 0 && b < 64 ? Math.floor(a / 2 ** b) : undefined) : a >> b;
    case ">>>":
      return a >>> b;
    default:
      return undefined;
  }
}

/** The number under a minus sign. */
export function negated(value: Value): Value {
  return value.numbers.length === 0 ? UNKNOWN : combined([{ ...value, texts: [] }], (one) => -one);
}

/** One letter or item by its place; `at` counts from the end where a language does. */
export function itemAt(
  self: Value,
  index: Value,
  at: <T>(all: readonly T[], place: number) => T | undefined,
): Value | undefined {
  if (index.numbers.length === 0) return undefined;
  if (self.texts.length > 0)
    return combined(
      [
        { ...self, numbers: [] },
        { ...index, texts: [] },
      ],
      (one, place) => at([...String(one)], Number(place)) ?? "",
      MARKS.built,
    );
  return undefined;
}

/** Numbers as the texts that they are written as. */
export function written(value: Value): Value {
  if (value.numbers.length === 0) return value;
  return combined([value], (one) =>
    typeof one === "string" || Number.isSafeInteger(one) ? String(one) : undefined,
  );
}
