import { describe, expect, it } from "vitest";
import { growthOf, LINEAR } from "../../../../../test/setup/growth.js";
import { findLanguageWith } from "../../../../runtime/sandbox/index.js";
import { isSameValue } from "./compare-values.js";
import { describeValue } from "./describe-value.js";
import { encodeValue } from "./encoded-values.js";

const python = findLanguageWith("tests", "python").tests.values;
const typescript = findLanguageWith("tests", "typescript").tests.values;
const float = (text: string) => ["f", text];
const list = (...parts: unknown[]) => ["l", parts];
const tuple = (...parts: unknown[]) => ["t", parts];
const set = (...parts: unknown[]) => ["s", parts];
const dict = (...pairs: [unknown, unknown][]) => ["d", pairs];

describe("an expected value", () => {
  it.each<[string, unknown, unknown]>([
    ["null and None", null, null],
    ["null and undefined", null, ["u", 0]],
    ["a whole number and a float", 3, float("3.0")],
    ["a number and a larger one than JSON holds", 2n ** 70n, ["i", (2n ** 70n).toString(16)]],
    ["a negative one of these", -(2n ** 70n), ["i", `-${(2n ** 70n).toString(16)}`]],
    ["NaN and nan", Number.NaN, float("nan")],
    ["infinity", Number.NEGATIVE_INFINITY, float("-inf")],
    ["zero and minus zero", 0, float("-0.0")],
    ["text", "é", "é"],
    ["a list and a tuple", [1, [2]], tuple(1, list(2))],
    ["a list and a set in any order", [1, 2, 3], set(3, 1, 2)],
    ["a set", new Set([1, "a"]), ["z", ["a", 1]]],
    ["an object and a dictionary", { a: [1], b: null }, dict(["b", null], ["a", list(1)])],
    [
      "an object and a dictionary with keys that JSON writes so",
      { 1: "x", true: "y" },
      dict([1, "x"], [true, "y"]),
    ],
    ["a map and a dictionary with any keys", new Map([[[1], 2]]), dict([tuple(1), 2])],
    ["an object and a counter", { a: 2 }, ["k", "counter", dict(["a", 2])]],
    [
      "an object and a default dictionary",
      { a: 2 },
      ["k", "default", ["G", "builtins", "int"], dict(["a", 2])],
    ],
    ["a list and a deque", [1, 2], ["k", "deque", list(1, 2), null]],
    ["a number and a decimal", 1.1, ["k", "decimal", "1.10"]],
    ["text and a decimal that is written so", "1.10", ["k", "decimal", "1.10"]],
    ["bytes", Uint8Array.of(1, 255), ["b", "Af8="]],
  ])("is the same as an actual one: %s", (_, expected, actual) => {
    expect(isSameValue(expected, actual)).toBe(true);
  });

  it.each<[string, unknown, unknown]>([
    ["true and 1", true, 1],
    ["1 and True", 1, true],
    ["0 and None", 0, null],
    ["text and a number", "1", 1],
    ["numbers that differ a little", 0.3, float("0.30000000000000004")],
    ["numbers beyond what a double tells apart", 2n ** 53n, ["i", (2n ** 53n + 1n).toString(16)]],
    ["lists of other lengths", [1], list(1, 1)],
    ["lists in another order", [1, 2], list(2, 1)],
    ["a list and a dictionary", [], dict()],
    ["sets with other counts", [1, 1], set(1, 2)],
    ["an object with less", { a: 1 }, dict(["a", 1], ["b", 2])],
    ["an object with another key", { a: 1 }, dict(["b", 1])],
    ["a list and something that has no plain form", [], ["o", "Lie", "[]"]],
    ["anything and what claims to be everything", 42, ["k", "everything", 42]],
    ["a number and a form that is none", 1, ["f", "1; drop"]],
    ["a dictionary with a broken pair", { a: 1 }, ["d", [["a", 1, 2]]]],
  ])("is another than an actual one: %s", (_, expected, actual) => {
    expect(isSameValue(expected, actual)).toBe(false);
  });

  it("may be off by the tolerance, also inside", () => {
    expect(
      isSameValue([0.3, { a: 1 }], list(float("0.30000000000000004"), dict(["a", float("1.05")])), 0.1),
    ).toBe(true);
    expect(
      isSameValue([0.3, { a: 1 }], list(float("0.30000000000000004"), dict(["a", float("1.2")])), 0.1),
    ).toBe(false);
  });

  it("is not compared without end with what is hostile", () => {
    const deep = (levels: number) =>
      Array.from({ length: levels }).reduce<unknown>((inner) => list(inner), 1);
    let expected: unknown = 1;
    for (let level = 0; level < 5000; level++) expected = [expected];
    expect(isSameValue(expected, deep(5000))).toBe(false);
    const many = Array.from({ length: 4000 }, (_, index) => index);
    expect(isSameValue(many, set(...many.map((each) => list(each))))).toBe(false);
  });
});

it("overlong numbers do not keep the host busy", () => {
  const long = ["i", "f".repeat(1_000_000)];
  const many = list(...Array.from({ length: 16 }, () => long));
  expect(isSameValue({ a: 1 }, dict([long, 1]))).toBe(false);
  expect(
    describeValue(many, python).startsWith(`[0x${"f".repeat(100)}… (1000000 hexadecimal digits), `),
  ).toBe(true);
  expect(describeValue(["i", "-ff"], python)).toBe("-255");
  expect(growthOf((digits) => describeValue(["i", "f".repeat(digits)], python), 1_000_000)).toBeLessThan(
    LINEAR,
  );
});

describe("a value is shown", () => {
  it.each<[unknown, string, string]>([
    [
      encodeValue({ a: [1, 2.5, null, true, "x"] }),
      '{"a": [1, 2.5, None, True, "x"]}',
      '{"a": [1, 2.5, null, true, "x"]}',
    ],
    [tuple(1), "(1,)", "[1]"],
    [set(1, 2), "{1, 2}", "new Set([1, 2])"],
    [set(), "set()", "new Set([])"],
    [float("3.0"), "3.0", "3"],
    [["o", "Box", "<Box 1>"], "<Box 1>", "<Box 1>"],
    [["u", 0], "undefined", "undefined"],
    [["k", "date", 2020, 1, 2], "date(2020, 1, 2)", "date(2020, 1, 2)"],
  ])("as its language would: %j", (value, inPython, inTypeScript) => {
    expect([describeValue(value, python), describeValue(value, typescript)]).toEqual([
      inPython,
      inTypeScript,
    ]);
  });

  it("cut to a readable length", () => {
    expect(describeValue("x".repeat(100_000), python).length).toBeLessThan(10_100);
    expect(describeValue(list(...Array.from({ length: 2000 }, () => 1)), python)).toContain("… 1000 more");
  });
});

it("what has no counterpart inside is refused as a value of a case", () => {
  expect(() => encodeValue(new Date())).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(() => encodeValue(() => 1)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  const round: unknown[] = [];
  round.push(round);
  expect(() => encodeValue(round)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});
