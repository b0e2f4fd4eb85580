import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { requires } from "../../test/setup/requires.js";
import { testSeed } from "../../test/setup/test-seed.js";
import { canonicalJson, type Json } from "./canonical-json.js";

/** Any value, with keys in any order and strings of any code units; numbers as records have them. */
const keys = fc.oneof(
  fc.string({ unit: "grapheme-ascii" }),
  fc.constantFrom("__proto__", "10", "9", "toString"),
);
const numbers = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -1e9, max: 1e9 }).map((value) => value / 1000),
);
const texts = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
);
const values = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false),
    numbers,
    texts,
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(keys, tie("value"), { maxKeys: 8, noNullPrototype: true }),
  ),
})).value;

/** The same value with the keys of every object in reverse order. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([key, each]) => [key, reversed(each)]));
}

describe("canonical JSON", () => {
  it("is one text per value, whatever the order of the keys, and survives being parsed", () => {
    fc.assert(
      fc.property(values, (value) => {
        const text = canonicalJson(value);
        expect(text).toMatch(/^[\x20-\x7e]*$/);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  requires("python3").it("is what Python's json.dumps prints", () => {
    const samples = fc.sample(values, { numRuns: 300, seed: testSeed });
    const program = `
import json, sys
for line in sys.stdin:
    print(json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")))
`;
    const input = samples.map(
      (value) => `${JSON.stringify(value).replaceAll(/[\u0080-\uffff]/g, escapeUnit)}\n`,
    );
    const { stdout } = spawnSync("/usr/bin/python3", ["-c", program], {
      input: input.join(""),
      encoding: "latin1",
    });
    expect(stdout).toBe(samples.map((value) => `${canonicalJson(value)}\n`).join(""));
  });

  it("escapes controls, bidi overrides and lone surrogates", () => {
    expect(canonicalJson("a\u0000\u001b[31m\u007f\u202e\u2028é😀\ud800")).toBe(
      '"a\\u0000\\u001b[31m\\u007f\\u202e\\u2028\\u00e9\\ud83d\\ude00\\ud800"',
    );
  });

  it.each([
    ["NaN", Number.NaN],
    ["an infinity", { deep: [Number.NEGATIVE_INFINITY] }],
    ["undefined", { value: undefined }],
    ["a function", () => 1],
    ["a bigint", 1n],
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    ["a hole in an array", [1, , 2]],
  ])("refuses %s", (_, value) => {
    expect(() => canonicalJson(value as unknown as Json)).toThrow(TypeError);
  });
});

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
