"use strict";
// One side of a test run: its own objects that the other side knows, and the other side's that it knows. split-side.py is the same
// in Python.

const { types } = require("node:util");
const { decodeError, encodeError } = require("./split-errors.cjs");
const { Broken } = require("./split-link.cjs");
const { arrayTraps, BOTH_HAVE, createPrototype, createTarget, functionTraps, objectTraps } = require("./split-objects.cjs");
const { Decoder, Encoder, letterOf, none, text } = require("./split-values.cjs");

/** What is asked for to have something done, and not only to look. */
const CHANGING = new Set(["call", "construct", "set", "delete"]);

/** What is answered when it is settled. */
const LATER = new Set(["await", "idle", "module"]);

/** `guard` decides what the other side may do with objects of this one. */
class Side {
  constructor(guard) {
    this.guard = guard;
    this.own = new Map(); // number → [object, how often it was told]
    this.numbers = new Map();
    this.next = 1;
    this.peers = new Map(); // number → what knows the object here
    this.peerNumbers = new WeakMap();
    this.prototypes = new Map();
    this.released = [];
    this.served = 0;
    this.turns = 0;
    this.isTurning = false;
    this.looks = 0;
    this.gone = new FinalizationRegistry((known) => {
      if (this.peers.get(known.number) === known) this.peers.delete(known.number);
      this.released.push([known.number, known.count]);
    });
    this.refer = this.refer.bind(this);
    this.find = this.find.bind(this);
    this.serve = this.serve.bind(this);
  }

  // --- What we ask for ---

  ask(op, ...values) {
    // What a look has the other side ask of us is part of that look.
    const isLook = !CHANGING.has(op) || this.looks > 0;
    if (!isLook) this.turns++;
    const encoder = new Encoder(this.refer, [], this.guard.keeps);
    const message = [op, this.released.splice(0), this.guard.watched(), ...values.map((value) => encoder.encode(value))];
    this.looks += isLook ? 1 : 0;
    try {
      return this.take(this.link.ask(message), encoder.kept);
    } finally {
      this.looks -= isLook ? 1 : 0;
    }
  }

  async request(op, ...values) {
    const encoder = new Encoder(this.refer, [], this.guard.keeps);
    const message = [op, this.released.splice(0), this.guard.watched(), ...values.map((value) => encoder.encode(value))];
    return this.take(await this.link.request(message), encoder.kept);
  }

  /** An answer's value, once our own mutable values are as the other side left them. */
  take(heard, known) {
    let result;
    try {
      if (heard.length !== 4 || !Array.isArray(heard[3])) none();
      const decoder = new Decoder(this.find, known);
      result = decoder.decode(heard[2]);
      for (const change of heard[3]) {
        if (!Array.isArray(change) || change.length !== 2 || !Number.isInteger(change[0]) || known[change[0]] === undefined) none();
        decoder.replace(known[change[0]], change[1]);
      }
    } catch (problem) {
      this.breakOff(problem);
    }
    if (heard[0] === "e") throw result;
    return result;
  }

  /** Another number whenever something may have changed over there: after a call, and when a reader has let go. */
  turn() {
    if (!this.isTurning) {
      this.isTurning = true;
      queueMicrotask(() => {
        this.isTurning = false;
        this.turns++;
      });
    }
    return this.turns;
  }

  breakOff(problem) {
    this.link.broken(problem instanceof Broken ? problem.message : `a value that cannot be read (${problem?.name})`);
    throw problem;
  }

  // --- What is asked of us ---

  serve(message) {
    const decoder = new Decoder(this.find);
    let values;
    try {
      const [op, released] = message;
      if (message.length < 4 || !Object.hasOwn(this.guard.operations, op)) throw new Broken("something unknown");
      if (!this.guard.withoutTarget.includes(op) && !(Array.isArray(message[3]) && message[3][0] === "P")) {
        throw new Broken("something to be done to nothing");
      }
      this.release(released);
      values = message.slice(3).map((each) => decoder.decode(each));
    } catch (problem) {
      this.breakOff(problem);
    }
    const known = [...decoder.known];
    const before = known.map(snapshot);
    const answer = (kind, value) => {
      const changed = known.flatMap((each, number) => (hasChanged(before[number], each) ? [number] : []));
      try {
        return this.answer(kind, value, known, changed);
      } catch (problem) {
        return this.answer("e", problem, known, []);
      }
    };
    this.guard.watching = message[2];
    this.served++;
    try {
      const value = this.guard.operations[message[0]](...values);
      if (!LATER.has(message[0])) return answer("a", value);
      return Promise.resolve(value).then((settled) => answer("a", settled), (error) => answer("e", error));
    } catch (error) {
      return answer("e", error);
    }
  }

  answer(kind, value, known, changed) {
    const encoder = new Encoder(this.refer, known, this.guard.keeps);
    const result = encoder.encode(value);
    return [kind, result, changed.map((number) => [number, encoder.content(known[number], letterOf(known[number]))])];
  }

  release(released) {
    if (!Array.isArray(released)) none();
    for (const each of released) {
      if (!Array.isArray(each) || !Number.isInteger(each[0]) || !Number.isInteger(each[1])) none();
      const known = this.own.get(each[0]);
      if (known === undefined || each[0] === 1) continue;
      known[1] -= each[1];
      if (known[1] > 0) continue;
      this.own.delete(each[0]);
      this.numbers.delete(known[0]);
    }
  }

  // --- Our own objects, as the other side is told of them ---

  number(value) {
    let number = this.numbers.get(value);
    if (number === undefined) {
      number = this.next++;
      this.numbers.set(value, number);
      this.own.set(number, [value, 0]);
    }
    this.own.get(number)[1]++;
    return number;
  }

  refer(value, encoder, depth) {
    const peer = typeof value === "symbol" ? undefined : this.peerNumbers.get(value);
    if (peer !== undefined) return ["P", peer];
    if (typeof value === "symbol") return ["S", this.number(value), String(value.description ?? "").slice(0, 200)];
    if (types.isNativeError(value) || value instanceof Error) return encodeError(value, this, encoder, depth);
    const named = this.guard.named(value);
    if (named !== undefined) return ["G", named];
    this.guard.checkTell(value);
    if (typeof value === "function") return ["F", this.number(value), nameOf(value), isClass(value)];
    if (types.isPromise(value)) {
      value.catch(() => undefined); // it may be awaited later
      return ["W", this.number(value)];
    }
    const { constructor } = Object.getPrototypeOf(value) ?? {};
    const isPlain = typeof constructor !== "function" || constructor === Object;
    return ["O", this.number(value), isPlain ? 0 : this.number(constructor), Array.isArray(value)];
  }

  /** What the other side needs to know of a class: its name, and what it is derived from. */
  describe(cls) {
    const above = Object.getPrototypeOf(cls.prototype ?? Object.prototype)?.constructor;
    const isTop = typeof above !== "function" || above === Object || above === cls;
    const parent = isTop ? null : BOTH_HAVE[above.name] === above ? above.name : this.number(above);
    return [nameOf(cls), parent];
  }

  // --- The other side's objects ---

  isPeer(value) {
    return Object(value) === value && this.peerNumbers.has(value);
  }

  find(message, decoder, depth) {
    const [letter, number] = message;
    if (letter === "G") return this.guard.findNamed(text(number));
    if (letter === "X") return decodeError(message, this, decoder, depth);
    if (!Number.isInteger(number) || number < 1) none();
    if (letter === "P") return (this.own.get(number) ?? none())[0];
    const known = this.peers.get(number);
    const found = known?.object.deref();
    if (found !== undefined) {
      known.count++;
      return found;
    }
    return this.adopt(this.make(message), number);
  }

  /** Remembers what an object here is over there. */
  adopt(object, number) {
    const known = { number, count: 1, object: typeof object === "symbol" ? { deref: () => object } : new WeakRef(object) };
    this.peers.set(number, known);
    if (typeof object === "symbol") return object;
    this.peerNumbers.set(object, number);
    this.gone.register(object, known);
    return object;
  }

  make([letter, number, first, second]) {
    if (letter === "S") return Symbol(text(first));
    if (letter === "W") return this.awaited(number);
    let proxy;
    const proxyOf = () => proxy;
    const show = () => this.guard.show(() => this.ask("inspect", proxy));
    if (letter === "F") {
      const target = createTarget("function", text(first), show);
      proxy = new Proxy(target, functionTraps(this, proxyOf, () => this.prototypeOf(number), second === true));
    } else if (letter === "O") {
      const prototype = () => (first !== 0 ? this.prototypeOf(first) : second === true ? Array.prototype : Object.prototype);
      const traps = second === true ? arrayTraps(this, proxyOf, prototype) : objectTraps(this, proxyOf, prototype);
      proxy = new Proxy(createTarget(second === true ? "array" : "object", "", show), traps);
    } else throw new Broken("something unknown");
    return proxy;
  }

  /** A promise of the other side's: it is settled here when it is there, and this side goes on meanwhile. */
  awaited(number) {
    const message = ["await", this.released.splice(0), this.guard.watched(), ["P", number]];
    return this.link.request(message).then((heard) => this.take(heard, []));
  }

  prototypeOf(number) {
    if (!Number.isInteger(number) || number < 1) none();
    const known = this.prototypes.get(number);
    if (known !== undefined) return known;
    const described = this.take(this.link.ask(["describe", [], [], ["P", number]]), []);
    // The class is kept for good: the other side must not forget what instances are asked about by.
    const cls = this.find(["F", number, text(described[0]), true]);
    const made = createPrototype(described, () => cls, (each) => this.prototypeOf(each));
    this.prototypes.set(number, made);
    return made;
  }
}

function snapshot(value) {
  if (Array.isArray(value)) return [...value];
  return types.isMap(value) || types.isSet(value) ? [...value] : Object.entries(value);
}

function hasChanged(before, value) {
  const now = snapshot(value);
  const same = (one, other) =>
    Array.isArray(one) && Array.isArray(other) && !Array.isArray(value) && !types.isSet(value)
      ? Object.is(one[0], other[0]) && Object.is(one[1], other[1])
      : Object.is(one, other);
  return now.length !== before.length || now.some((each, index) => !same(before[index], each));
}

function nameOf(value) {
  const { name } = value;
  return typeof name === "string" ? name.slice(0, 200) : "";
}

function isClass(value) {
  return /^class\b/.test(Function.prototype.toString.call(value));
}

module.exports = { Side, isClass, nameOf };
