import { describe, expect, it } from "vitest";
import { callText, nameOfCase, parseCases } from "./test-case.js";

describe("cases", () => {
  it("are a list of calls or inputs, with what has to come of each", () => {
    const cases = [
      { call: "add(1, 2)", expected: 3 },
      { name: "by name", call: { function: "Stack.create", args: [1], kwargs: { size: 2 } }, expected: null },
      { input: "a\n", args: ["-x"], expected: "A" },
      { call: "fail()", raises: "ValueError", timeoutMs: 100 },
      { call: "fail()", raises: { type: "ValueError", message: "bad" } },
      { call: "pi()", expected: 3.14, tolerance: 0.01 },
    ];
    expect(parseCases(cases)).toEqual(cases);
    expect(cases.map(nameOfCase)).toEqual(["add(1, 2)", "by name", "input 3", "fail()", "fail()", "pi()"]);
    expect(callText({ function: "f", args: ["a", [1n]], kwargs: { x: null } })).toBe('f("a", ["1"], x=null)');
  });

  it.each<[string, unknown]>([
    ["something that is no list", { call: "f()", expected: 1 }],
    ["a case that is no object", ["f()"]],
    ["a misspelt key", [{ call: "f()", expceted: 1 }]],
    ["neither call nor input", [{ expected: 1 }]],
    ["call and input", [{ call: "f()", input: "", expected: "" }]],
    ["nothing to expect", [{ call: "f()" }]],
    ["a value and an exception", [{ call: "f()", expected: 1, raises: "E" }]],
    ["an input without text to expect", [{ input: "", expected: 1 }]],
    ["a function that is no name", [{ call: { function: "f()" }, expected: 1 }]],
    ["a function with more than a call has", [{ call: { function: "f", argz: [] }, expected: 1 }]],
    ["arguments that are no list", [{ call: { function: "f", args: 1 }, expected: 1 }]],
    ["a negative tolerance", [{ call: "f()", expected: 1, tolerance: -1 }]],
    ["no time at all", [{ call: "f()", expected: 1, timeoutMs: 0 }]],
    ["an exception without a class", [{ call: "f()", raises: { message: "x" } }]],
    ["arguments of a program without an input", [{ call: "f()", args: ["x"], expected: 1 }]],
    ["too many cases", Array.from({ length: 10_001 }, () => ({ call: "f()", expected: 1 }))],
  ])("are refused with %s", (_, cases) => {
    expect(() => parseCases(cases)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", hint: expect.any(String) }),
    );
  });

  it("are named in an error by their number", () => {
    expect(() => parseCases([{ call: "f()", expected: 1 }, { call: "g()" }])).toThrow(
      "Case 2: it must have either expected or raises",
    );
  });
});
