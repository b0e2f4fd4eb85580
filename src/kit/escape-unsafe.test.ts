import fc from "fast-check";
import { expect, it } from "vitest";
import { escapeUnsafe, escapeUnsafeLines } from "./escape-unsafe.js";

it.each([
  ["an escape sequence", "\x1b[31mred", "\\x1b[31mred"],
  ["a line break", "a\nb", "a\\x0ab"],
  ["text turned round", "a\u202eb", "a\\u{202e}b"],
  ["a character without width", "a\u200bb", "a\\u{200b}b"],
  ["half a character", "a\ud800b", "a\\u{d800}b"],
  ["a one-byte escape", "\x9b31m", "\\x9b31m"],
  ["a filler", "a\u3164b\u115f\u1160\uffa0", "a\\u{3164}b\\u{115f}\\u{1160}\\u{ffa0}"],
  ["a blank pattern", "a\u2800b", "a\\u{2800}b"],
  ["a joiner", "a\u034fb", "a\\u{34f}b"],
  ["a variation selector", "a\ufe0fb\u{e0100}", "a\\u{fe0f}b\\u{e0100}"],
  ["a wide space", "a\u3000b\u00a0c", "a\\u{3000}b\\xa0c"],
  ["marks in a stack", `e${"\u0301".repeat(6)}x`, `e${"\u0301".repeat(4)}${"\\u{301}".repeat(2)}x`],
  ["ordinary text", "naïve 名前 🙂.txt", "naïve 名前 🙂.txt"],
])("shows %s", (_, text, expected) => {
  expect(escapeUnsafe(text)).toBe(expected);
});

it("keeps the lines of longer text", () => {
  expect(escapeUnsafeLines("a\x07\nb")).toBe("a\\x07\nb");
});

it("lets nothing through that acts on a terminal", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(escapeUnsafe(text)).not.toMatch(
        /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u,
      );
    }),
  );
});
