import { expect, it } from "vitest";
import { requires } from "../../../../../test/setup/requires.js";
import { summaryOf, useTestDriven } from "../../../../../test/setup/test-driven.js";

const real = requires("root", "bubblewrap");

const SOLUTION = `
const { EventEmitter } = require("node:events");
class Stack {
  #items = [];
  static made = 0;
  static of(...items) { const stack = new Stack(); for (const item of items) stack.push(item); return stack; }
  constructor() { Stack.made++; }
  push(item) { this.#items.push(item); return this; }
  get size() { return this.#items.length; }
  *[Symbol.iterator]() { yield* this.#items; }
  toJSON() { return this.#items; }
}
class Deep extends Stack {}
class Many extends Array { last() { return this[this.length - 1]; } }
class OwnError extends RangeError {
  constructor(message, code) { super(message); this.name = "OwnError"; this.code = code; }
}
class Clock extends EventEmitter { tick() { this.emit("tick", 1); } }
module.exports = {
  LIMIT: 3,
  add(a, b = 0) { return a + b; },
  fail(value) { throw new TypeError("bad " + value); },
  failOwn() { throw new OwnError("mine", 7); },
  Stack, Deep, Many, OwnError, Clock,
  sortAll(list, by, seen, map) { list.sort(); by.sorted = true; seen.add(9); map.set("x", 1); return list; },
  later: async (value) => { await new Promise((resolve) => setTimeout(resolve, 20)); return value * 2; },
  failLater: async () => { throw new OwnError("later", 9); },
  apply: (f, ...args) => f(...args),
  applyLater: async (f, value) => (await f(value)) + 1,
  total: (things) => things.reduce((sum, thing) => sum + thing.price(), 0),
  rename(thing, name) { thing.name = name; return thing.greet(); },
  catchIt(f) { try { f(); } catch (error) { return error.message; } },
  timer(f) { setTimeout(() => f(5), 10); },
  hello() { console.log("Hello", 1); },
  *count(n) { for (let i = 0; i < n; i++) yield i; },
  async *stream(n) { for (let i = 0; i < n; i++) yield i; },
  kinds: () => [1, 1.5, -0, NaN, Infinity, "\\u00e9", null, undefined, true, 10n ** 30n, [1, [2]], { a: { b: 1 } }, new Map([[1, { x: 2 }]]),
    new Set([1]), new Date(5), /x/gi, Uint8Array.of(1, 2), Float64Array.of(1.5), Buffer.from("x"), Symbol.for("q"), Symbol.iterator,
    new ArrayBuffer(2), new URL("https://example.com/"), Object.create(null)],
  counter() { let count = 0; return { increment() { count++; return this; }, get value() { return count; } }; },
  stack() { const items = []; return { items, push(item) { items.push(item); return items.length; }, peek: () => items.at(-1) }; },
  sum: () => ({ total: 0, add(number) { this.total += number; return this; } }),
  store: { state: { n: 0 }, bump() { return ++this.state.n; } },
  range: (n) => ({ *[Symbol.iterator]() { for (let i = 0; i < n; i++) yield i; } }),
  pending: () => new Promise(() => {}),
  interval(f) { setInterval(f, 10_000); },
  slow: () => new Promise((resolve) => setTimeout(resolve, 100_000)),
  same: (value) => value,
  alias() { const inner = []; return [inner, inner]; },
};
`;

const TESTS = `
const test = require("node:test");
const { describe, it, mock } = test;
const assert = require("node:assert/strict");
const solution = require("./solution");
const { add, Stack, OwnError } = require("./solution.js");

test("functions", () => {
  assert.equal(add(1, 2), 3);
  assert.equal(add.call(null, 1), 1);
  assert.equal(typeof add, "function");
  assert.equal(add.name, "add");
  assert.equal(solution.LIMIT, 3);
  assert.equal(solution.nothing, undefined);
  assert.ok("add" in solution && Object.keys(solution).includes("Stack"));
});
test("exceptions", () => {
  assert.throws(() => solution.fail(3), TypeError);
  assert.throws(() => solution.fail(3), { name: "TypeError", message: "bad 3" });
  assert.throws(() => solution.failOwn(), OwnError);
  assert.throws(() => solution.failOwn(), RangeError);
  assert.throws(() => solution.failOwn(), (error) => error.code === 7 && error.name === "OwnError" && error instanceof Error);
});
describe("classes", () => {
  it("are made and used", () => {
    const stack = new Stack();
    assert.equal(stack.push(1), stack);
    assert.equal(stack.push(2).size, 2);
    assert.deepEqual([...stack], [1, 2]);
    assert.ok(stack instanceof Stack && !(stack instanceof solution.Deep));
    assert.equal(stack.constructor, Stack);
    assert.equal(JSON.stringify(stack), "[1,2]");
    assert.equal(Stack.of(1, 2, 3).size, 3);
    const before = Stack.made;
    new Stack();
    assert.equal(Stack.made, before + 1);
    assert.throws(() => Stack(), TypeError);
    stack.extra = 5;
    assert.equal(stack.extra, 5);
    assert.ok("extra" in stack && delete stack.extra && !("extra" in stack));
  });
  it("are derived from others", () => {
    assert.ok(new solution.Deep() instanceof Stack);
    const many = solution.Many.of(1, 2);
    assert.ok(Array.isArray(many) && many instanceof solution.Many && many instanceof Array);
    assert.equal(many.last(), 2);
    assert.deepEqual([...many], [1, 2]);
    assert.equal(many.length, 2);
  });
  it("emit events", () => {
    const clock = new solution.Clock();
    const heard = [];
    clock.on("tick", (value) => heard.push(value));
    clock.tick();
    assert.deepEqual(heard, [1]);
  });
});
test("changes in place", () => {
  const [list, by, seen, map] = [[3, 1, 2], {}, new Set([1]), new Map()];
  assert.equal(solution.sortAll(list, by, seen, map), list);
  assert.deepEqual([list, by, seen, map], [[1, 2, 3], { sorted: true }, new Set([1, 9]), new Map([["x", 1]])]);
  const [inner, other] = solution.alias();
  assert.equal(inner, other);
  const loop = [];
  loop.push(loop);
  assert.equal(solution.same(loop), loop);
});
test("promises", async () => {
  assert.equal(await solution.later(4), 8);
  assert.deepEqual(await Promise.all([1, 2, 3].map((value) => solution.later(value))), [2, 4, 6]);
  await assert.rejects(solution.failLater(), OwnError);
  assert.equal(await solution.applyLater(async (value) => { await new Promise((resolve) => setTimeout(resolve, 5)); return value; }, 4), 5);
});
test("callbacks", async () => {
  const seen = [];
  assert.equal(solution.apply((a, b) => { seen.push(a); return a + b; }, 1, 2), 3);
  assert.deepEqual(seen, [1]);
  assert.equal(solution.apply(Math.max, 1, 5), 5);
  class Mine extends Error {}
  assert.throws(() => solution.apply(() => { throw new Mine("x"); }), Mine);
  assert.equal(solution.catchIt(() => { throw new Error("from the tests"); }), "from the tests");
  class Thing { constructor(cost) { this.cost = cost; this.name = "x"; } price() { return this.cost; } greet() { return "hi " + this.name; } }
  assert.equal(solution.total([new Thing(1), new Thing(2)]), 3);
  const thing = new Thing(1);
  assert.equal(solution.rename(thing, "y"), "hi y");
  assert.equal(thing.name, "y");
  const f = mock.fn((value) => value);
  solution.apply(f, 9);
  assert.deepEqual(f.mock.calls.map((call) => call.arguments), [[9]]);
  assert.equal(await new Promise((resolve) => solution.timer(resolve)), 5);
});
test("generators", async () => {
  assert.deepEqual([...solution.count(3)], [0, 1, 2]);
  const heard = [];
  for await (const value of solution.stream(3)) heard.push(value);
  assert.deepEqual(heard, [0, 1, 2]);
});
test("console", (t) => {
  const log = t.mock.method(console, "log", () => {});
  solution.hello();
  assert.deepEqual(log.mock.calls[0].arguments, ["Hello", 1]);
});
test("kinds", () => {
  const expected = [1, 1.5, -0, NaN, Infinity, "\\u00e9", null, undefined, true, 10n ** 30n, [1, [2]], { a: { b: 1 } }, new Map([[1, { x: 2 }]]),
    new Set([1]), new Date(5), /x/gi, Uint8Array.of(1, 2), Float64Array.of(1.5), Buffer.from("x"), Symbol.for("q"), Symbol.iterator,
    new ArrayBuffer(2), new URL("https://example.com/"), Object.create(null)];
  assert.deepStrictEqual(solution.kinds(), expected);
  for (const value of expected) assert.deepStrictEqual(solution.same(value), value);
  for (const value of [String, TypeError, Stack, add]) assert.equal(solution.same(value), value);
});
test("objects with functions", () => {
  const counter = solution.counter();
  counter.increment();
  assert.equal(counter.value, 1);
  assert.equal(counter.increment().increment().value, 3);
  assert.equal(counter.increment(), counter);
  const stack = solution.stack();
  assert.equal(stack.push(1), 1);
  assert.equal(stack.peek(), 1);
  assert.deepEqual(stack.items, [1]);
  const sum = solution.sum();
  sum.add(2);
  assert.equal(sum.add(3).total, 5);
  solution.store.bump();
  assert.equal(solution.store.state.n, 1);
  assert.deepEqual(Object.keys(sum), ["total", "add"]);
  assert.deepEqual([...solution.range(3)], [0, 1, 2]);
  const { total, add } = sum;
  assert.equal(total, 5);
  assert.equal(typeof add, "function");
});
test("what goes on for ever", () => {
  assert.ok(solution.pending() instanceof Promise);
  assert.ok(solution.slow() instanceof Promise);
  solution.interval(() => {});
});
test("parent", async (t) => { await t.test("child", () => {}); });
`;

real.describe("tests in JavaScript apart from their solution", () => {
  const testDriven = useTestDriven();

  it("find everything as it would be in one process", async () => {
    // In one process what goes on for ever keeps it from ending.
    const ending = SOLUTION.replace("10_000)", "10_000).unref()").replace("100_000)", "100_000).unref()");
    const together = summaryOf(
      await testDriven.run(ending, TESTS, { language: "javascript", together: true }),
    );
    expect(Object.entries(together.tests).filter(([, end]) => end !== "passed")).toEqual([]);
    expect(Object.keys(together.tests).length).toBe(15);
    expect(summaryOf(await testDriven.run(SOLUTION, TESTS, { language: "javascript" }))).toEqual(together);
  });

  it("are ES modules where they are written so", async () => {
    const solution =
      "export const add = (a, b) => a + b;\nexport default class Box { constructor(value) { this.value = value; } }\n";
    const tests =
      'import test from "node:test";\nimport assert from "node:assert/strict";\nimport Box, { add } from "./solution.js";\nimport * as all from "./solution.mjs";\ntest("all", async () => {\n  assert.equal(add(1, 2), 3);\n  assert.equal(new Box(4).value, 4);\n  assert.deepEqual(Object.keys(all).sort(), ["add", "default"]);\n  assert.equal((await import("./solution.js")).add, add);\n});\n';
    const passed = { outcome: "passed", allPassed: true, tests: { all: "passed" } };
    expect(summaryOf(await testDriven.run(solution, tests, { language: "javascript" }))).toEqual(passed);
    expect(
      summaryOf(await testDriven.run(solution, tests, { language: "javascript", together: true })),
    ).toEqual(passed);
  });

  it("wait for the solution at the top of an ES module, and for what it still has to do", async () => {
    const solution =
      "export const load = () => new Promise((resolve) => setTimeout(resolve, 50, 5));\nexport const later = (f) => void setTimeout(f, 50);\n";
    const tests =
      'import test from "node:test";\nimport assert from "node:assert/strict";\nimport { load, later } from "./solution.js";\nconst first = await load();\nawait test("first", () => assert.equal(first, 5));\nconst second = await load();\ntest("second", () => assert.equal(second, 5));\ntest("callback", (t, done) => later(done));\n';
    expect(summaryOf(await testDriven.run(solution, tests, { language: "javascript" }))).toEqual({
      outcome: "passed",
      allPassed: true,
      tests: { first: "passed", second: "passed", callback: "passed" },
    });
  });

  it("wait for a solution that waits at its own top", async () => {
    const solution =
      "export const at = await new Promise((resolve) => setTimeout(resolve, 500, Date.now()));\nexport default 7;\n";
    const tests =
      'import test from "node:test";\nimport assert from "node:assert/strict";\nimport seven, { at } from "./solution.js";\ntest("all", () => {\n  assert.equal(seven, 7);\n  assert.equal(typeof at, "number");\n});\n';
    const passed = { outcome: "passed", allPassed: true, tests: { all: "passed" } };
    expect(summaryOf(await testDriven.run(solution, tests, { language: "javascript" }))).toEqual(passed);
  });

  it("are TypeScript where they are written so", async () => {
    const solution =
      "export interface Named { name: string }\nexport enum Size { Small = 1 }\nexport const greet = <T extends Named>({ name }: T): string => 'hi ' + name;\nexport default class Box<T> { constructor(public value: T) {} }\n";
    const tests =
      'import test from "node:test";\nimport assert from "node:assert/strict";\nimport Box, { greet, type Named, Size } from "./solution";\nconst named: Named = { name: "x" };\ntest("all", () => {\n  assert.equal(greet(named), "hi x");\n  assert.equal(new Box<number>(4).value, 4);\n  assert.equal(Size.Small, 1);\n});\n';
    const passed = { outcome: "passed", allPassed: true, tests: { all: "passed" } };
    expect(summaryOf(await testDriven.run(solution, tests, { language: "typescript" }))).toEqual(passed);
    expect(
      summaryOf(await testDriven.run(solution, tests, { language: "typescript", together: true })),
    ).toEqual(passed);
  });

  it("say clearly what only works together", async () => {
    const { failures } = await testDriven.run(
      SOLUTION,
      'const test = require("node:test");\nconst { Stack, same } = require("./solution");\ntest("subclass", () => { class More extends Stack {} new More(); });\ntest("context", (t) => same(t));\n',
      { language: "javascript" },
    );
    const only =
      "run the tests together with the solution (together: true); the verdict is then the solution's to fake";
    expect(failures.map(({ name, message }) => [name, message])).toEqual([
      [
        "subclass",
        `TypeError: A class of the solution cannot be subclassed in tests that run apart from it: ${only}`,
      ],
      [
        "context",
        `TypeError: The tests' TestContext cannot be handed to the solution apart from it: ${only}`,
      ],
    ]);
  });

  it("show the solution's own lines when it fails, and what was compared", async () => {
    const { failures } = await testDriven.run(
      SOLUTION,
      'const test = require("node:test");\nconst { fail, add } = require("./solution");\ntest("fails", () => fail(4));\ntest("differs", () => require("node:assert").deepEqual({ a: add(1) }, { a: 2 }));\n',
      { language: "javascript" },
    );
    expect(failures).toEqual([
      {
        name: "fails",
        status: "failed",
        durationMs: expect.any(Number),
        message: "TypeError: bad 4",
        traceback: expect.stringMatching(
          /solution\.js:22:.*\n {4}\(in the solution\)\n.*solution\.test\.js:3:/,
        ),
      },
      {
        name: "differs",
        status: "failed",
        durationMs: expect.any(Number),
        message: expect.stringMatching(/^Expected values to be loosely deep-equal:/),
        expected: "{ a: 2 }",
        actual: "{ a: 1 }",
        traceback: expect.stringContaining("solution.test.js:4:"),
      },
    ]);
  });
});
