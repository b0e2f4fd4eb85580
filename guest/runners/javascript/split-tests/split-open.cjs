"use strict";
// The guard of the side that has the solution: its objects are open to the tests.

const { inspect } = require("node:util");
const { BOTH_HAVE } = require("./split-objects.cjs");
const { cut, stackText } = require("./split-errors.cjs");

/** Lets everything pass. `side()` is that side. */
class Solution {
  constructor(side) {
    this.side = side;
    this.watching = [];
    this.withoutTarget = ["module", "exports", "idle"];
    this.operations = {
      call: (target, self, args) => Reflect.apply(target, self, args),
      construct: (target, args) => Reflect.construct(target, args),
      get: (target, key) => target[key],
      set(target, key, value) {
        target[key] = value;
      },
      has: (target, key) => key in target,
      delete: (target, key) => delete target[key],
      keys: (target) => Reflect.ownKeys(target),
      descriptor: (target, key) => (Object.hasOwn(target, key) ? [target[key], Object.prototype.propertyIsEnumerable.call(target, key)] : []),
      describe: (target) => side().describe(target),
      inspect: (target) => cut(inspect(target)),
      await: (target) => target,
      module: () => this.module,
      exports: () => this.exports,
      idle: () => this.idle(),
    };
    /** What the file exports, once it has loaded: tests may ask while an ES module still waits at its top. */
    this.module = new Promise((resolve) => {
      this.loaded = resolve;
    });
    this.waiting = [];
    process.on("beforeExit", () => {
      this.side().link.port.ref();
      for (const resolve of this.waiting.splice(0)) resolve();
    });
  }

  /** Resolves when the solution has nothing to do any more but to be asked. */
  idle() {
    this.side().link.port.unref();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  named(value) {
    return typeof value === "function" && BOTH_HAVE[value.name] === value ? value.name : undefined;
  }

  findNamed(name) {
    return name.split(".").reduce((found, key) => found[key], globalThis);
  }

  checkTell() {}

  /** True for an object with functions or accessors of its own: they mean this very object, and a copy would not change with it. */
  keeps(value) {
    return Reflect.ownKeys(value).some((key) => {
      const { get, set, value: own } = Object.getOwnPropertyDescriptor(value, key);
      return get !== undefined || set !== undefined || typeof own === "function";
    });
  }

  stackOf(error) {
    return stackText(error);
  }

  show(ask) {
    return ask();
  }

  watched() {
    return [];
  }

  /** What is printed is told to tests that have put something in the console's place. */
  watchConsole() {
    for (const method of ["log", "info", "warn", "error", "debug"]) {
      const plain = console[method];
      console[method] = (...args) => {
        plain.apply(console, args);
        if (Array.isArray(this.watching) && this.watching.includes(method)) this.side().ask("console", method, args);
      };
    }
  }
}

module.exports = { Solution };
