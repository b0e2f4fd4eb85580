import fc from "fast-check";
import { expect, it } from "vitest";
import { closestWord, editDistance, suggestWord } from "./closest-word.js";

it.each([
  ["netwrok", "network"],
  ["allowed_domains", "allowedDomains"],
  ["ALLOWEDDOMAIN", "allowedDomains"],
  ["bakend", "backend"],
])("takes %s for %s", (word, expected) => {
  expect(closestWord(word, ["backend", "network", "allowedDomains"])).toBe(expected);
});

it("suggests nothing for a word unlike all others", () => {
  expect(closestWord("zebra", ["backend", "network"])).toBeUndefined();
  expect(closestWord("x", ["y", "z"])).toBeUndefined();
});

it("names the one that was probably meant before all that there are", () => {
  expect(suggestWord("pyton", ["python", "bash"], "Languages")).toBe(
    "Did you mean python? Languages: python, bash.",
  );
  expect(suggestWord("cobol", ["python", "bash"])).toBe("Known: python, bash.");
});

it("measures a distance: zero only for equal words, the same both ways", () => {
  const word = fc.string({ maxLength: 12 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});
