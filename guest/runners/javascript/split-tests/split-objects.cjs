"use strict";
// Objects of the other side, as proxies that ask for everything. What decides about equality here (===, assert) sees a proxy, or
// the values that it asked for one by one: never a yes or no of the other side's.

const { inspect } = require("node:util");
const { none, text } = require("./split-values.cjs");

const TOGETHER = "run the tests together with the solution (together: true); the verdict is then the solution's to fake";
const OF_FUNCTIONS = new Set(["call", "apply", "bind", "toString"]);
/** Classes that both sides have, by name. Nothing else is ever taken from a name. */
const BOTH_HAVE = Object.fromEntries(
  [
    Object, Array, String, Number, Boolean, BigInt, Symbol, Map, Set, WeakMap, WeakSet, Date, RegExp, Promise, ArrayBuffer, URL,
    Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, Uint8Array, Int8Array,
    Uint16Array, Int16Array, Uint32Array, Int32Array, Float32Array, Float64Array, Uint8ClampedArray,
  ].map((each) => [each.name, each]),
);

/** The traps of an object of the other side. `side.ask(op, target, …)` asks it. */
function objectTraps(side, proxyOf, prototype) {
  return {
    get(target, key) {
      if (key === "constructor") return prototype().constructor;
      if (key === inspect.custom) return target[inspect.custom];
      return side.ask("get", proxyOf(), key);
    },
    set(_, key, value) {
      side.ask("set", proxyOf(), key, value);
      return true;
    },
    has: (_, key) => side.ask("has", proxyOf(), key) === true,
    deleteProperty(target, key) {
      side.ask("delete", proxyOf(), key);
      return !Object.hasOwn(target, key) || Reflect.deleteProperty(target, key);
    },
    ownKeys(target) {
      const own = Reflect.ownKeys(target).filter((key) => !Reflect.getOwnPropertyDescriptor(target, key).configurable);
      return [...new Set([...keysOf(side.ask("keys", proxyOf())), ...own])];
    },
    getOwnPropertyDescriptor(target, key) {
      const fixed = Reflect.getOwnPropertyDescriptor(target, key);
      const isFixed = fixed !== undefined && !fixed.configurable;
      const told = side.ask("descriptor", proxyOf(), key);
      if (!Array.isArray(told) || told.length !== 2) return isFixed ? fixed : undefined;
      const [value, enumerable] = told;
      if (isFixed) return fixed.writable ? { ...fixed, value } : fixed;
      return { value, enumerable: enumerable === true, writable: true, configurable: true };
    },
    defineProperty(_, key, { value }) {
      side.ask("set", proxyOf(), key, value);
      return true;
    },
    getPrototypeOf: () => prototype(),
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  };
}

const MAX_LENGTH = 1_000_000;
/** What only looks at an array is done here, with what the other side says it has. */
const READING = new Set(
  ["at", "entries", "every", "find", "findIndex", "findLast", "findLastIndex", "forEach", "includes", "indexOf", "join", "keys", "lastIndexOf"]
    .concat(["reduce", "reduceRight", "some", "values", Symbol.iterator])
    .filter((key) => typeof Array.prototype[key] === "function"),
);

/**
 * The traps of an array of the other side. Its length and each part of it are asked for once, and stay what they are while this
 * side only looks: an array that is another one at every look would be equal to any.
 */
function arrayTraps(side, proxyOf, prototype) {
  const traps = objectTraps(side, proxyOf, prototype);
  let seen = new Map();
  let at = -1;
  const once = (key, ask) => {
    if (at !== side.turn()) [seen, at] = [new Map(), side.turn()];
    if (!seen.has(key)) seen.set(key, ask());
    return seen.get(key);
  };
  const lengthOf = () =>
    once("length", () => {
      const length = side.ask("get", proxyOf(), "length");
      return Number.isInteger(length) && length >= 0 && length <= MAX_LENGTH ? length : none();
    });
  const partOf = (key) => {
    if (!(Number(key) < lengthOf())) return undefined;
    // A part that is missing is undefined, as in arrays that cross by value: of holes every() is true.
    return once(key, () => ({ value: side.ask("get", proxyOf(), key), enumerable: true, writable: true, configurable: true }));
  };
  return {
    ...traps,
    get(target, key, receiver) {
      if (key === "length") return lengthOf();
      if (isIndex(key)) return partOf(key)?.value;
      return READING.has(key) ? Array.prototype[key] : traps.get(target, key, receiver);
    },
    has: (target, key) => (key === "length" ? true : isIndex(key) ? partOf(key) !== undefined : traps.has(target, key)),
    ownKeys: () =>
      once("keys", () => {
        const parts = Array.from({ length: lengthOf() }, (_, index) => String(index));
        const others = keysOf(side.ask("keys", proxyOf())).filter((key) => key !== "length" && !isIndex(key));
        return [...parts, "length", ...new Set(others)];
      }),
    getOwnPropertyDescriptor(target, key) {
      if (key === "length") return { value: lengthOf(), writable: true, enumerable: false, configurable: false };
      return isIndex(key) ? partOf(key) : once(key, () => traps.getOwnPropertyDescriptor(target, key));
    },
  };
}

function isIndex(key) {
  return typeof key === "string" && /^(?:0|[1-9]\d{0,9})$/.test(key);
}

/** The traps of a function or class of the other side. */
function functionTraps(side, proxyOf, prototype, isClass) {
  const traps = objectTraps(side, proxyOf, () => Function.prototype);
  return {
    ...traps,
    get(target, key, receiver) {
      if (key === "prototype") return prototype();
      if (key === Symbol.hasInstance) return Function.prototype[Symbol.hasInstance];
      if (OF_FUNCTIONS.has(key)) return Function.prototype[key];
      return traps.get(target, key, receiver);
    },
    apply: (_, self, args) => side.ask("call", proxyOf(), side.isPeer(self) ? self : undefined, args),
    construct(_, args, newTarget) {
      if (newTarget !== proxyOf()) {
        throw new TypeError(`A class of the solution cannot be subclassed in tests that run apart from it: ${TOGETHER}`);
      }
      const made = side.ask("construct", proxyOf(), args);
      return Object(made) === made ? made : none();
    },
    ...(isClass && {
      apply() {
        throw new TypeError("Class constructor cannot be invoked without 'new'");
      },
    }),
  };
}

function keysOf(told) {
  const isKey = (key) => typeof key === "string" || typeof key === "symbol";
  return Array.isArray(told) && told.length <= 100_000 && told.every(isKey) ? told : none();
}

/** What a proxy is made of, and how it is shown: util.inspect looks behind proxies. */
function createTarget(kind, name, show) {
  // biome-ignore lint/complexity/useArrowFunction: a proxy of an arrow function is no constructor
  const target = kind === "function" ? function () {} : kind === "array" ? [] : {};
  if (kind === "function") Object.defineProperty(target, "name", { value: name, configurable: true });
  Object.defineProperty(target, inspect.custom, { value: show, configurable: true, enumerable: false });
  return target;
}

/** The object that stands for a class's prototype here: its chain is what `instanceof` goes by. */
function createPrototype(described, constructorOf, parentOf) {
  if (!Array.isArray(described) || described.length !== 2) none();
  const [, parent] = described;
  const above =
    parent === null ? Object.prototype : typeof parent === "string" ? (BOTH_HAVE[own(parent)] ?? none()).prototype : parentOf(parent);
  const prototype = Object.create(above);
  Object.defineProperty(prototype, "constructor", { get: constructorOf, configurable: true });
  return prototype;
}

function own(name) {
  return Object.hasOwn(BOTH_HAVE, text(name)) ? name : none();
}

module.exports = { arrayTraps, BOTH_HAVE, TOGETHER, createPrototype, createTarget, functionTraps, objectTraps };
