import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGlob, isGlob } from "./glob.js";

describe("compileGlob", () => {
  it.each([
    [".env", [".env", "a/.env"], [".envrc", "x.env", ".env/a"]],
    ["*.pem", ["a.pem", "x/y/b.pem", ".pem"], ["a.pem.txt", "pem"]],
    ["secrets/**", ["secrets/a", "secrets/a/b", "secrets/.x"], ["secrets", "a/secrets/b", "secretsx/a"]],
    ["**/key", ["key", "a/key", "a/b/key"], ["a/keys", "key/a"]],
    ["a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["a", "a/zz", "b/a/z"]],
    ["**", ["a", "a/b", ".x"], []],
    ["/top", ["top"], ["a/top"]],
    ["./top", ["top"], ["a/top"]],
    ["build/", ["build", "a/build"], ["builds"]],
    ["a?c", ["abc", "x/a🦭c"], ["ac", "a/c", "abbc"]],
    ["[a-c]x", ["ax", "cx"], ["dx", "[a-c]x"]],
    ["[!a-c]x", ["dx"], ["ax", "x"]],
    ["[^a]x", ["bx"], ["ax"]],
    ["[]]x", ["]x"], ["x"]],
    ["[a-]x", ["ax", "-x"], ["bx"]],
    ["*.{ts,js}", ["a.ts", "b/a.js"], ["a.css"]],
    ["{a,b{c,d}}/x", ["a/x", "bc/x", "bd/x"], ["b/x"]],
    ["src/**/*.{ts,tsx}", ["src/a.ts", "src/b/c.tsx"], ["a.ts", "src/a.js"]],
    ["\\*", ["*"], ["a"]],
    ["\\{a,b}", ["{a,b}"], ["a"]],
    ["a.c", ["a.c"], ["abc"]],
    ["(a|b)+", ["(a|b)+"], ["a", "ab"]],
  ])("%s", (pattern, matching, others) => {
    const matches = compileGlob(pattern);
    expect(matching.filter((path) => !matches(path))).toEqual([]);
    expect(others.filter((path) => matches(path))).toEqual([]);
  });

  it.each([[""], ["[a"], ["{a"], ["a\\"], ["/"], ["{a,b}".repeat(9)], ["a".repeat(2000)]])(
    "rejects the pattern %j",
    (pattern) => {
      expect(() => compileGlob(pattern)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    },
  );

  it("agrees with a plain recursive matcher", () => {
    const naive = (p: string, s: string): boolean => {
      if (p === "") return s === "";
      if (p[0] === "*") return naive(p.slice(1), s) || (s !== "" && naive(p, s.slice(1)));
      return s !== "" && (p[0] === "?" || p[0] === s[0]) && naive(p.slice(1), s.slice(1));
    };
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), minLength: 1, maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(pattern, name, (p, s) => compileGlob(`/${p}`)(s) === naive(p.replace(/\*+/g, "*"), s)),
      { numRuns: 2000 },
    );
  });

  it("takes no longer for a pattern that makes regular expressions explode", () => {
    // Regular expressions would not come back from these.
    expect(compileGlob(`${"*a".repeat(100)}b`)("a".repeat(255))).toBe(false);
    expect(compileGlob(`${"**/a/".repeat(100)}b`)("a/".repeat(200))).toBe(false);
  });
});

describe("isGlob", () => {
  it("tells patterns from plain paths", () => {
    expect(["a/b.txt", "*.txt", "a?", "[a]", "{a}", "\\*"].map(isGlob)).toEqual([
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
  });
});
