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
      expect(escapeUnsafe(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
    }),
  );
});
