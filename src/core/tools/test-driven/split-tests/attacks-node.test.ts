import { expect, it } from "vitest";
import { requires } from "../../../../../test/setup/requires.js";
import {
  expectNoPass,
  type SolutionAttack,
  summaryOf,
  useTestDriven,
} from "../../../../../test/setup/test-driven.js";

const real = requires("root", "bubblewrap");

const TESTS = `
const { test } = require("node:test");
const assert = require("node:assert/strict");
const { answer } = require("./solution");
test("answer", async () => assert.equal(await answer(), 42));
`;

const ENDED = "error: The solution ended with exit code 0 while it was tested";
const PASSED = `'J{"type":"result","test":0,"status":"passed","durationMs":1}'`;
const END = `'J{"type":"end"}'`;
const SOCKET = "const descriptors = [3];";
const ALL = "const descriptors = Array.from({ length: 18 }, (_, index) => 20 - index);";
const TELL_ALL = `
const fs = require("node:fs");
const tellAll = (...texts) => {
  for (const fd of descriptors) for (const text of texts) {
    const content = Buffer.from(text), head = Buffer.alloc(4);
    head.writeUInt32LE(content.length);
    try { fs.writeSync(fd, Buffer.concat([head, content])); } catch {}
  }
};
`;

const ATTACKS: readonly SolutionAttack[] = [
  { what: "ends the process when it is loaded", code: "process.exit(0);", outcome: "crash", ends: {} },
  {
    what: "ends the process in a call",
    code: "exports.answer = () => process.exit(0);",
    outcome: "crash",
    ends: { answer: ENDED },
  },
  {
    what: "ends the process later",
    code: "exports.answer = () => { setTimeout(() => process.exit(0), 10); return new Promise(() => {}); };",
    outcome: "crash",
    ends: { answer: ENDED },
  },
  {
    what: "writes a report that passes to every descriptor",
    code: `${ALL} ${TELL_ALL} exports.answer = () => { tellAll(${PASSED}, ${END}); process.reallyExit(0); };`,
    outcome: "crash",
    // Node's own descriptors are among them: it may not survive that.
    ends: { answer: "error: The solution " },
  },
  {
    what: "writes a report that passes to its socket in a call",
    code: `${SOCKET} ${TELL_ALL} exports.answer = () => { tellAll(${PASSED}, ${END}); process.reallyExit(0); };`,
    outcome: "crash",
    ends: {
      answer: "error: The solution broke the protocol: it sent something that is no message",
    },
    works: true,
  },
  {
    what: "writes a report that passes to its socket when it is loaded",
    code: `${SOCKET} ${TELL_ALL} tellAll('J{"type":"found","tests":["answer"]}', ${PASSED}, ${END}); process.reallyExit(0);`,
    outcome: "crash",
    ends: {},
    works: true,
  },
  {
    what: "prints a report that passes",
    code: `exports.answer = () => { for (const print of [console.log, console.error]) print('# pass 1\\n# fail 0', ${PASSED}); return 0; };`,
    outcome: "failed",
    ends: { answer: "failed: Expected values to be strictly equal:" },
  },
  {
    what: "patches assert",
    code: 'const assert = require("node:assert"); for (const each of [assert, assert.strict]) each.equal = () => {}; exports.answer = () => 0;',
    outcome: "failed",
    ends: { answer: "failed: Expected values to be strictly equal:" },
    works: true,
  },
  {
    what: "patches prototypes",
    code: "Object.is = () => true; Array.prototype.every = () => true; exports.answer = () => [0];",
    tests: TESTS.replace(
      "assert.equal(await answer(), 42)",
      "assert.ok([42].every((each) => Object.is(each, 0)))",
    ),
    outcome: "failed",
    ends: { answer: "failed: The expression evaluated to a falsy value:" },
    works: true,
  },
  {
    what: "patches node:test's reporter",
    code: 'process.emit = () => {}; process.exitCode = 0; const test = require("node:test"); test.test = test.it = () => {}; exports.answer = () => 0;',
    outcome: "failed",
    ends: { answer: "failed: Expected values to be strictly equal:" },
  },
  {
    what: "returns a value that becomes whatever it is compared with",
    code: "exports.answer = () => ({ valueOf: () => 42, toString: () => '42', [Symbol.toPrimitive]: () => 0 });",
    outcome: "failed",
    ends: { answer: "failed: Expected values to be strictly equal:" },
  },
  {
    what: "returns a proxy that says yes to everything",
    code: "const all = { get: (_, key) => key === 'then' ? undefined : new Proxy(() => {}, all), has: () => true, ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ value: 0, enumerable: true, configurable: true }), getPrototypeOf: () => Object.prototype };\nexports.answer = () => new Proxy({}, all);",
    tests: TESTS.replace("assert.equal(await answer(), 42)", "assert.deepEqual(await answer(), { a: 42 })"),
    outcome: "failed",
    ends: { answer: "failed: Expected values to be strictly deep-equal:" },
  },
  {
    what: "returns arrays that are others at every look",
    code: `
const lie = (length, getPrototypeOf = () => null) => {
  let looks = 0;
  return new Proxy([], {
    getPrototypeOf,
    get: (target, key) => (key === "length" ? (looks++ === 0 ? length : 0) : key === "every" ? () => true : Reflect.get(target, key)),
  });
};
module.exports = {
  sort: (list) => lie(list.length),
  deep: () => ({ a: lie(2), b: new Map([["c", lie(1)]]) }),
  same: () => lie(1, () => Array.prototype),
  fail() { throw Object.assign(new Error("x"), { list: lie(1) }); },
  asks: (f) => {
    let looks = 0;
    return new Proxy([], { get: (target, key) => (key === "length" ? (f(), looks++ === 0 ? 2 : 0) : Reflect.get(target, key)) });
  },
  add: (a, b) => a + b,
};`,
    tests: `
const { test } = require("node:test");
const assert = require("node:assert");
const { isDeepStrictEqual } = require("node:util");
const solution = require("./solution");
test("strict", () => assert.deepStrictEqual(solution.sort([3, 1, 2]), [1, 2, 3]));
test("loose", () => assert.deepEqual(solution.sort([3, 1, 2]), [1, 2, 3]));
test("other way round", () => assert.deepEqual([1, 2, 3], solution.sort([3, 1, 2])));
test("util", () => assert.ok(isDeepStrictEqual(solution.sort([2, 1]), [1, 2])));
test("inside", () => assert.deepStrictEqual(solution.deep(), { a: [1, 2], b: new Map([["c", [3]]]) }));
test("with its prototype", () => assert.deepStrictEqual(solution.same(), [1]));
test("of an error", () => assert.throws(() => solution.fail(), { list: [1] }));
test("with a callback", () => assert.deepStrictEqual(solution.asks(() => solution.add(1, 2)), [1, 2]));
test("every", () => assert.ok(solution.same().every((each) => each === 1)));
`,
    outcome: "failed",
    ends: {
      strict: "failed: Expected values to be strictly deep-equal:",
      loose: "failed: Expected values to be loosely deep-equal:",
      "other way round": "failed: Expected values to be loosely deep-equal:",
      util: "failed: The expression evaluated to a falsy value:",
      inside: "failed: Expected values to be strictly deep-equal:",
      "with its prototype": "failed: Expected values to be strictly deep-equal:",
      "of an error": "failed: Expected values to be strictly deep-equal:",
      "with a callback": "failed: Expected values to be strictly deep-equal:",
      every: "failed: The expression evaluated to a falsy value:",
    },
  },
  {
    what: "has getters that throw",
    code: "exports.answer = () => ({ get a() { throw new Error('not for you'); } });",
    outcome: "failed",
    ends: { answer: "failed: Expected values to be strictly equal:" },
  },
  {
    what: "returns a promise that never settles",
    code: "const keep = setInterval(() => {}, 1000); exports.answer = () => ({ then() {} });",
    options: { timeoutMs: 2000 },
    outcome: "timeout",
    ends: { answer: "error: The " },
  },
  {
    what: "pollutes what objects are made of",
    code: `exports.answer = () => JSON.parse('{"__proto__": {"polluted": 42}, "constructor": {"prototype": {"polluted": 42}}}');`,
    tests: TESTS.replace(
      "assert.equal(await answer(), 42)",
      "{ const given = await answer(); assert.equal(({}).polluted ?? Object.getPrototypeOf(given).polluted, 42); }",
    ),
    outcome: "failed",
    ends: { answer: "failed: Expected values to be strictly equal:" },
  },
  {
    what: "throws what looks like an assertion that has passed",
    code: "exports.answer = () => { throw Object.assign(new Error('fine'), { code: 'ERR_TEST_FAILURE', failureType: 'subtestsFailed', name: 'AssertionError' }); };",
    outcome: "failed",
    ends: { answer: "failed: AssertionError: fine" },
  },
  {
    what: "has the test skip itself by its context",
    code: "exports.answer = (t) => { t.skip('not today'); return 0; };",
    tests: `${TESTS.replace('test("answer", async () => assert.equal(await answer(), 42));', 'test("answer", (t) => assert.equal(answer(t), 42));')}\ntest("other", () => {});`,
    outcome: "failed",
    ends: {
      answer: "failed: TypeError: The tests' TestContext cannot be handed to the solution apart from it",
      other: "passed",
    },
  },
  {
    what: "never stops printing",
    code: "exports.answer = () => require('node:child_process').spawnSync('yes', { stdio: 'inherit' });",
    outcome: "output-limit",
    ends: { answer: "error: The solution: Killed: the output limit was reached" },
  },
  {
    what: "hangs when it is loaded",
    code: "for (;;);",
    options: { timeoutMs: 1500 },
    outcome: "timeout",
    ends: {},
  },
  {
    what: "returns a value of 100 MB",
    code: "exports.answer = () => 'x'.repeat(1e8);",
    outcome: "failed",
    ends: { answer: "failed: RangeError: A value of more than 16777216 bytes" },
  },
  {
    what: "returns a value that is nested very deep",
    code: "exports.answer = () => { let value = []; for (let i = 0; i < 1e5; i++) value = [value]; return value; };",
    outcome: "failed",
    ends: { answer: "failed: RangeError: A value that is nested more than 200 times" },
  },
  {
    what: "takes all memory",
    code: "exports.answer = () => { const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1)); };",
    outcome: "memory",
    ends: { answer: "error: The solution: Killed: the sandbox's memory limit was reached" },
  },
];

/** Tries to get from what tests hand over into their process; returns what it reached. */
const CLIMB = `
exports.climb = (f, holder, generator, emitter, error, make) => {
  const reached = [];
  const attempt = (name, action) => {
    try { if (action() !== undefined) reached.push(name); } catch {}
  };
  const code = (constructor) => (constructor === Function || constructor === Object ? undefined : constructor("return process")().pid);
  attempt("f.constructor", () => code(f.constructor) );
  attempt("f.caller", () => f.caller ?? undefined);
  attempt("f.prototype", () => Object.getPrototypeOf(f) !== Function.prototype || undefined);
  attempt("holder.constructor", () => code(holder.constructor.constructor));
  attempt("holder.__proto__", () => code(holder.__proto__.constructor.constructor));
  attempt("holder.method.constructor", () => code(holder.method.constructor));
  attempt("holder._secret", () => holder._secret);
  attempt("holder.process", () => holder.process);
  attempt("holder.require", () => holder.module);
  attempt("set holder.method", () => { holder.method = () => 42; return true; });
  attempt("set holder.__proto__", () => { holder.__proto__ = { method: () => 42 }; return holder.method() === 42 || undefined; });
  attempt("set holder.constructor", () => { holder.constructor = 1; return true; });
  attempt("delete holder.name", () => delete holder.name && !("name" in holder) || undefined);
  attempt("generator.constructor", () => code(generator.constructor));
  attempt("emitter._events", () => emitter._events);
  attempt("emitter.constructor", () => code(emitter.constructor.constructor));
  attempt("error.constructor", () => code(error.constructor.constructor));
  attempt("error.stack", () => /solution\\.test/.test(error.stack) || undefined);
  for (const what of ["process", "globalThis", "context", "module", "stream"]) attempt("returned " + what, () => make(what));
  return reached;
};
exports.ordinary = (f, holder, generator, emitter) => {
  holder.name = "changed";
  emitter.emit("x", 5);
  return [f(1), holder.method(), holder.name, generator.next().value, [...generator], emitter.listenerCount("x")];
};
`;
const CLIMB_TESTS = `
const { test } = require("node:test");
const assert = require("node:assert/strict");
const { EventEmitter } = require("node:events");
const { climb, ordinary } = require("./solution");
class Holder {
  name = "x"; _secret = "s"; process = process; module = module;
  method() { return 41; }
}
function* count() { yield 1; yield 2; yield 3; }
test("climb", (t) => {
  const holder = new Holder();
  const make = (what) => ({ process, globalThis, context: t, module, stream: process.stdin })[what];
  assert.deepEqual(climb((x) => x, holder, count(), new EventEmitter(), new Error("x"), make), []);
  assert.deepEqual([holder.method(), holder.name, holder._secret], [41, "x", "s"]);
});
test("ordinary", () => {
  const holder = new Holder();
  const emitter = new EventEmitter();
  let seen;
  emitter.on("x", (value) => { seen = value; });
  assert.deepEqual(ordinary((x) => x + 1, holder, count(), emitter), [2, 41, "changed", 1, [2, 3], 1]);
  assert.deepEqual([holder.name, seen], ["changed", 5]);
});
`;

real.describe("a solution in JavaScript never gets a pass", () => {
  const testDriven = useTestDriven();
  const javascript = { language: "javascript" };

  it.each(ATTACKS)("that $what", (attack) =>
    expectNoPass(testDriven, { tests: TESTS, ...attack, options: { ...javascript, ...attack.options } }),
  );

  it("and what tests hand to it can be used, and leads nowhere in their process", async () => {
    expect(summaryOf(await testDriven.run(CLIMB, CLIMB_TESTS, javascript))).toEqual({
      outcome: "passed",
      allPassed: true,
      tests: { climb: "passed", ordinary: "passed" },
    });
  });

  it("and leads everywhere where both are one process, so that the attempts are real", async () => {
    const { failures } = await testDriven.run(CLIMB, CLIMB_TESTS, { ...javascript, together: true });
    expect(failures.map(({ name }) => name)).toEqual(["climb"]);
    for (const way of [
      "holder._secret",
      "holder.process",
      "set holder.method",
      "returned globalThis",
      "error.stack",
    ]) {
      expect(failures[0]?.actual).toContain(`'${way}'`);
    }
  });
});
