"use strict";
// Values as JSON, both ways: the same letters as split-values.py where there is the same kind of value.
//
//   ["u", 0] undefined   ["f", text] number   ["i", hex] bigint   ["l", [..]] array   ["d", [[key, value], ..], isBare] plain object
//   ["h", [[key, value], ..]] Map   ["s", [..]] Set   ["m", n] the n-th mutable value again   ["y", name] a symbol that both have
//   ["k", name, ..] one of KINDS   capital letters: references, see split-objects.cjs

const { types } = require("node:util");
const { Broken, MAX_FRAME } = require("./split-link.cjs");

const MAX_DEPTH = 200;
const MAX_NODES = 2_000_000;

const VIEWS = [
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array,
  BigInt64Array, BigUint64Array,
];
const KINDS = {
  Date: { is: types.isDate, prototype: Date.prototype, parts: (value) => [Date.prototype.getTime.call(value)], make: (time) => new Date(numeric(time)) },
  RegExp: {
    is: types.isRegExp,
    prototype: RegExp.prototype,
    parts: (value) => [value.source, value.flags, value.lastIndex],
    make: (source, flags, last) => Object.assign(new RegExp(text(source), text(flags)), { lastIndex: numeric(last) }),
  },
  ArrayBuffer: {
    is: types.isArrayBuffer,
    prototype: ArrayBuffer.prototype,
    parts: (value) => [Buffer.from(value).toString("base64")],
    make: (bytes) => Uint8Array.from(Buffer.from(text(bytes), "base64")).buffer,
  },
  Buffer: {
    is: (value) => Buffer.isBuffer(value),
    prototype: Buffer.prototype,
    parts: (value) => [value.toString("base64")],
    make: (bytes) => Buffer.from(text(bytes), "base64"),
  },
  URL: { is: (value) => value instanceof URL, prototype: URL.prototype, parts: (value) => [value.href], make: (href) => new URL(text(href)) },
};
for (const View of VIEWS) {
  KINDS[View.name] = {
    is: (value) => ArrayBuffer.isView(value),
    prototype: View.prototype,
    parts: (value) => [Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")],
    make(bytes) {
      const { buffer } = Uint8Array.from(Buffer.from(text(bytes), "base64"));
      return new View(buffer);
    },
  };
}
for (const Box of [Number, String, Boolean]) {
  KINDS[Box.name] = {
    is: types.isBoxedPrimitive,
    prototype: Box.prototype,
    parts: (value) => [value.valueOf()],
    make: (value) => (typeof value === typeof Box.prototype.valueOf() ? new Box(value) : none()),
  };
}

/**
 * One message. `refer(value, encoder, depth)` says what has no plain form; `known` are mutable values that it may speak of;
 * `keeps(object)` is true for one that crosses as a reference although it is made like a plain one.
 */
class Encoder {
  constructor(refer, known = [], keeps = () => false) {
    this.refer = refer;
    this.keeps = keeps;
    this.kept = [...known];
    this.seen = new Map(known.map((value, number) => [value, number]));
    this.nodes = 0;
    this.size = 0;
  }

  encode(value, depth = 0) {
    switch (typeof value) {
      case "boolean":
        return value;
      case "string":
        this.measure(value.length);
        return value;
      case "undefined":
        return ["u", 0];
      case "number":
        return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : ["f", numberText(value)];
      case "bigint":
        return ["i", value < 0n ? `-${(-value).toString(16)}` : value.toString(16)];
      case "symbol":
        return symbolName(value) === undefined ? this.refer(value, this, depth) : ["y", symbolName(value)];
      default:
        return value === null ? null : this.object(value, depth);
    }
  }

  object(value, depth) {
    this.nodes++;
    if (depth > MAX_DEPTH) throw new RangeError(`A value that is nested more than ${MAX_DEPTH} times cannot be handed to the other side of a test`);
    if (this.nodes > MAX_NODES) throw new RangeError(`A value of more than ${MAX_NODES} parts cannot be handed to the other side of a test`);
    const number = this.seen.get(value);
    if (number !== undefined) return ["m", number];
    const letter = letterOf(value);
    if (letter === "d" && this.keeps(value)) return this.refer(value, this, depth);
    if (letter !== undefined) {
      this.seen.set(value, this.kept.length);
      this.kept.push(value);
      const content = this.content(value, letter, depth);
      return letter === "d" && Object.getPrototypeOf(value) === null ? ["d", content, true] : [letter, content];
    }
    const kind = kindOf(value);
    if (kind === undefined) return this.refer(value, this, depth);
    return ["k", kind, ...KINDS[kind].parts(value).map((part) => this.encode(part, depth + 1))];
  }

  content(value, letter, depth = 0) {
    const each = (one) => this.encode(one, depth + 1);
    if (letter === "l") return Array.from(value, each);
    if (letter === "s") return Array.from(Set.prototype.values.call(value), each);
    if (letter === "h") return Array.from(Map.prototype.entries.call(value), (pair) => pair.map(each));
    return Object.keys(value).map((key) => [key, each(value[key])]);
  }

  measure(size) {
    this.size += size;
    if (this.size > MAX_FRAME) throw new RangeError(`A value of more than ${MAX_FRAME} bytes cannot be handed to the other side of a test`);
  }
}

/** One message, read strictly: what is not in the table is Broken. `refer(message, decoder, depth)` finds references. */
class Decoder {
  constructor(refer, known = []) {
    this.refer = refer;
    this.known = [...known];
    this.nodes = 0;
  }

  decode(message, depth = 0) {
    if (message === null || typeof message === "boolean" || typeof message === "string" || typeof message === "number") return message;
    if (!Array.isArray(message) || message.length < 2 || depth > MAX_DEPTH || ++this.nodes > MAX_NODES) none();
    const [letter, first] = message;
    const each = (part) => this.decode(part, depth + 1);
    switch (letter) {
      case "u":
        return undefined;
      case "f":
        return numberOf(first);
      case "i":
        return bigintOf(first);
      case "y":
        return symbolOf(first);
      case "m":
        return Number.isInteger(first) && first >= 0 && first < this.known.length ? this.known[first] : none();
      case "l":
        return this.fill(this.keep([]), "l", list(first), each);
      case "s":
        return this.fill(this.keep(new Set()), "s", list(first), each);
      case "h":
        return this.fill(this.keep(new Map()), "h", list(first), each);
      case "d":
        return this.fill(this.keep(message[2] === true ? Object.create(null) : {}), "d", list(first), each);
      case "k": {
        const kind = Object.hasOwn(KINDS, first) ? KINDS[first] : none();
        try {
          return kind.make(...message.slice(2).map(each));
        } catch {
          return none();
        }
      }
      default:
        return this.refer(message, this, depth);
    }
  }

  fill(target, letter, parts, each) {
    for (const part of parts) {
      if (letter === "l") target.push(each(part));
      else if (letter === "s") target.add(each(part));
      else {
        const [key, value] = list(part).length === 2 ? part : none();
        if (letter === "h") target.set(each(key), each(value));
        else define(target, text(key), each(value));
      }
    }
    return target;
  }

  /** Gives a mutable value of ours the content that it has on the other side. */
  replace(target, content) {
    const letter = letterOf(target) ?? none();
    const new_ = this.fill(empty(letter), letter, list(content), (part) => this.decode(part));
    if (letter === "l") {
      target.length = 0;
      for (const value of new_) target.push(value);
    } else if (letter === "d") {
      for (const key of Object.keys(target)) if (!Object.hasOwn(new_, key)) delete target[key];
      for (const key of Object.keys(new_)) define(target, key, new_[key]);
    } else {
      target.clear();
      for (const value of new_) letter === "s" ? target.add(value) : target.set(...value);
    }
  }

  keep(value) {
    this.known.push(value);
    return value;
  }
}

/** The letter of a mutable value that crosses by value; undefined: it is none. What only acts like one is none, either. */
function letterOf(value) {
  if (typeof value !== "object" || value === null || types.isProxy(value)) return undefined;
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) return prototype === Array.prototype ? "l" : undefined;
  if (types.isMap(value)) return prototype === Map.prototype ? "h" : undefined;
  if (types.isSet(value)) return prototype === Set.prototype ? "s" : undefined;
  return (prototype === Object.prototype || prototype === null) && !types.isModuleNamespaceObject(value) && value !== globalThis ? "d" : undefined;
}

function kindOf(value) {
  if (types.isProxy(value)) return undefined;
  const prototype = Object.getPrototypeOf(value);
  return Object.keys(KINDS).find((name) => KINDS[name].prototype === prototype && KINDS[name].is(value));
}

/** Never by assignment: a key may be __proto__. */
function define(target, key, value) {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function empty(letter) {
  return letter === "l" ? [] : letter === "s" ? new Set() : letter === "h" ? new Map() : {};
}

function none() {
  throw new Broken("a value that is none");
}

function text(value) {
  return typeof value === "string" ? value : none();
}

function list(value) {
  return Array.isArray(value) ? value : none();
}

function numeric(value) {
  return typeof value === "number" ? value : none();
}

function numberText(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Object.is(value, -0) ? "-0.0" : String(value);
}

function numberOf(value) {
  const named = { nan: Number.NaN, inf: Infinity, "-inf": -Infinity, "-0.0": -0 };
  if (Object.hasOwn(named, text(value))) return named[value];
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(value) ? Number(value) : none();
}

function bigintOf(value) {
  if (!/^-?[0-9a-f]+$/.test(text(value))) none();
  return value.startsWith("-") ? -BigInt(`0x${value.slice(1)}`) : BigInt(`0x${value}`);
}

/** What both sides call a symbol; undefined: it is one side's own. */
function symbolName(symbol) {
  const key = Symbol.keyFor(symbol);
  if (key !== undefined) return `for:${key}`;
  return WELL_KNOWN.find((name) => Symbol[name] === symbol);
}

const WELL_KNOWN = Object.getOwnPropertyNames(Symbol).filter((name) => typeof Symbol[name] === "symbol");

function symbolOf(name) {
  if (text(name).startsWith("for:")) return Symbol.for(name.slice(4));
  return WELL_KNOWN.includes(name) ? Symbol[name] : none();
}

module.exports = { Decoder, Encoder, letterOf, none, text };
