import { HOLE, MARKS } from "./value.js";

const SINGLE: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  v: "\v",
  a: "\u0007",
  "0": "\0",
  "\n": "",
};

const DIGITS = "ZERO ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE".split(" ");

/** A letter of an identifier by its name in Unicode; any other is one that only the run knows. */
function letterNamed(title: string): string {
  if (title === "LOW LINE") return "_";
  if (title === "FULL STOP") return ".";
  const [, size, letter] = /^LATIN (SMALL|CAPITAL) LETTER ([A-Z])$/.exec(title) ?? [];
  if (letter !== undefined) return size === "SMALL" ? letter.toLowerCase() : letter;
  const digit = DIGITS.indexOf(title.replace(/^DIGIT /, ""));
  return digit === -1 ? HOLE : String(digit);
}

/** A literal's text without its escapes, and the mark for letters that were spelt in numbers to hide them. */
export function withoutEscapes(source: string, octal: boolean): { text: string; marks: number } {
  if (!source.includes("\\")) return { text: source, marks: 0 };
  let spelt = 0;
  const text = source.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|([0-7]{1,3})|N\{([^}]{1,80})\}|(\r\n|[\s\S]))/g,
    (whole, x, u, braced, long, digits, title, single) => {
      const hex = x ?? u ?? braced ?? long;
      if (hex !== undefined || (digits !== undefined && (octal || digits !== "0"))) {
        const point = hex !== undefined ? Number.parseInt(hex, 16) : Number.parseInt(digits, 8);
        if (point > 0x10ffff) return whole;
        if ((point >= 0x30 && point <= 0x7a) || point === 0x2f) spelt++;
        return String.fromCodePoint(point);
      }
      if (title !== undefined) {
        spelt++;
        return letterNamed(title.toUpperCase());
      }
      return SINGLE[single ?? digits] ?? single ?? whole;
    },
  );
  return { text, marks: spelt >= 2 ? MARKS.decoded : 0 };
}
