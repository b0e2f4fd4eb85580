"use strict";
// What the solution may do with objects of the tests. It must not get from a callback into this process.
//
// - A function can be called, and nothing else: its properties lead to its constructor, and that makes functions out of text.
// - Of an instance of a class of the tests it gets public properties. What Node itself makes (a test's context, process, a module, a
//   stream of a file) is not for the solution to use.
// - What the language has crosses by its name, and the solution uses its own.

const { EventEmitter } = require("node:events");
const { inspect, types } = require("node:util");
const { BOTH_HAVE, TOGETHER } = require("./split-objects.cjs");
const { Broken } = require("./split-link.cjs");
const { nameOf } = require("./split-side.cjs");

const HIDDEN = new Set(["constructor", "prototype", "caller", "callee", "arguments", "__proto__"]);
const SYMBOLS = new Set([Symbol.iterator, Symbol.asyncIterator, Symbol.toPrimitive, Symbol.toStringTag]);
const EMITTING = new Set("on once off emit addListener removeListener removeAllListeners listenerCount listeners eventNames prependListener".split(" "));
const ITERATING = new Set(["next", "return", "throw"]);
const GENERATORS = [function* () {}, async function* () {}].map((make) => Object.getPrototypeOf(make.prototype));
const WATCHED = ["log", "info", "warn", "error", "debug"];

/** Functions of the language's own objects, by what one writes to have them. */
const STANDARD = new Map();
for (const name of ["Math", "JSON", "Number", "Object", "Array", "String", "Promise", "Date", "Symbol", "BigInt"]) {
  for (const key of Object.getOwnPropertyNames(globalThis[name])) {
    const value = globalThis[name][key];
    if (typeof value === "function") STANDARD.set(value, `${name}.${key}`);
  }
}
for (const name of ["parseInt", "parseFloat", "isNaN", "isFinite", "encodeURIComponent", "decodeURIComponent", "structuredClone", "setTimeout", "clearTimeout"]) {
  STANDARD.set(globalThis[name], name);
}

/** The guard of the side that has the tests. `side()` is that side. */
class Tests {
  constructor(side) {
    this.side = side;
    this.plain = Object.fromEntries(WATCHED.map((name) => [name, console[name]]));
    this.withoutTarget = ["console"];
    this.operations = {
      call: (target, self, args) => Reflect.apply(this.callable(target), this.selfFor(self), args),
      construct: (target, args) => Reflect.construct(this.callable(target), args),
      get: (target, key) => this.get(target, key),
      set: (target, key, value) => this.set(target, key, value),
      has: (target, key) => this.mayGet(target, key) && key in target,
      delete: () => refuse("delete"),
      keys: (target) => (typeof target === "function" ? [] : Object.keys(target).filter((key) => this.mayGet(target, key))),
      descriptor: (target, key) => (this.mayGet(target, key) && Object.hasOwn(target, key) ? [target[key], Object.keys(target).includes(key)] : []),
      describe: (target) => this.side().describe(target),
      inspect: (target) => `[${typeof target === "function" ? "Function" : "Object"} of the tests]`,
      await: (target) => (types.isPromise(target) ? target : refuse("await")),
      console: (method, args) => this.say(method, args),
    };
  }

  named(value) {
    if (typeof value !== "function") return undefined;
    return BOTH_HAVE[value.name] === value ? value.name : STANDARD.get(value);
  }

  findNamed(name) {
    if (Object.hasOwn(BOTH_HAVE, name)) return BOTH_HAVE[name];
    throw new Broken("a name that is none of the table's");
  }

  checkTell(value) {
    if (typeof value === "function" || types.isPromise(value) || !isOfNode(value)) return;
    throw new TypeError(`The tests' ${kindOf(value)} cannot be handed to the solution apart from it: ${TOGETHER}`);
  }

  /** What tests write down for a solution is copied, also where there are functions in it. */
  keeps() {
    return false;
  }

  stackOf() {
    return "";
  }

  show(ask) {
    const told = ask();
    return typeof told === "string" ? told.slice(0, 10_000) : "[Object of the solution]";
  }

  /** What of the console a test has put something in the place of: then it wants to know what is printed. */
  watched() {
    return WATCHED.filter((name) => console[name] !== this.plain[name]);
  }

  say(method, args) {
    if (!WATCHED.includes(method) || !Array.isArray(args)) refuse("print so");
    console[method](...args);
  }

  callable(target) {
    if (typeof target === "function") return target;
    throw new TypeError("it is not a function");
  }

  /** A method is called on the object that it belongs to, or on nothing. */
  selfFor(self) {
    return Object(self) === self ? self : undefined;
  }

  mayGet(target, key) {
    if (typeof target === "function" || Object(target) !== target || isOfNode(target)) return false;
    if (typeof key === "symbol") return SYMBOLS.has(key);
    if (typeof key !== "string" || key.startsWith("_") || HIDDEN.has(key)) return false;
    if (GENERATORS.some((each) => Object.prototype.isPrototypeOf.call(each, target))) return ITERATING.has(key);
    for (let at = target; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      if (Object.hasOwn(at, key)) return at !== EventEmitter.prototype || EMITTING.has(key);
    }
    return false;
  }

  get(target, key) {
    return this.mayGet(target, key) ? target[key] : undefined;
  }

  /** Data can be changed; what would take the place of a method cannot. */
  set(target, key, value) {
    const isOpen = typeof target === "object" && !isOfNode(target) && typeof key === "string" && !key.startsWith("_") && !HIDDEN.has(key);
    if (!isOpen || typeof target[key] === "function") refuse(`set ${String(key).slice(0, 100)} of`);
    target[key] = value;
  }
}

function refuse(what) {
  throw new TypeError(`the tests do not let the solution ${what} their objects`);
}

const OF_NODE = new Set(
  ("TestContext SuiteContext MockTracker MockFunctionContext MockTimers process Module ChildProcess Worker MessagePort FileHandle ReadStream " +
    "WriteStream Socket Server Script SourceTextModule Session Console Agent IncomingMessage ServerResponse Dir DirHandle " +
    "FSWatcher StatWatcher Interface InterfaceConstructor REPLServer Performance").split(" "),
);

/** True for what Node makes, and not a test's own classes. */
function isOfNode(value) {
  if (value === globalThis || types.isModuleNamespaceObject(value) || types.isExternal(value)) return true;
  for (let at = value; at !== null; at = Object.getPrototypeOf(at)) {
    const { constructor } = Object.getOwnPropertyDescriptor(at, "constructor") === undefined ? {} : at;
    if (typeof constructor === "function" && OF_NODE.has(constructor.name)) return true;
  }
  return false;
}

function kindOf(value) {
  return nameOf(Object.getPrototypeOf(value)?.constructor ?? {}) || inspect(value, { depth: 0 }).slice(0, 50);
}

module.exports = { Tests };
