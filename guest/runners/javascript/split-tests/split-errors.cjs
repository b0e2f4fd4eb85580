"use strict";
// Exceptions, both ways: ["X", n, class, message, stack, properties]. Of a built-in class they are that class here, of any other they
// have a prototype that stands in for theirs. One that comes back to where it was thrown is the very same object.

const path = require("node:path");
const { BOTH_HAVE } = require("./split-objects.cjs");
const { none, text } = require("./split-values.cjs");

const MAX_TEXT = 20_000;
const HERE = `${path.dirname(__dirname)}/`;

function encodeError(error, side, encoder, depth) {
  const { constructor } = Object.getPrototypeOf(error) ?? {};
  const isKnown = typeof constructor === "function" && BOTH_HAVE[constructor.name] === constructor;
  return [
    "X",
    side.number(error),
    isKnown ? constructor.name : typeof constructor === "function" ? side.number(constructor) : "Error",
    cut(read(error, "message")),
    side.guard.stackOf(error),
    [...propertiesOf(error, encoder, depth)],
  ];
}

function* propertiesOf(error, encoder, depth) {
  for (const key of Object.getOwnPropertyNames(error).slice(0, 50)) {
    if (key === "stack" || key === "message") continue;
    try {
      yield [key, encoder.encode(error[key], depth + 1)];
    } catch {
      // What cannot be told is left out: the exception itself must get through.
    }
  }
}

function decodeError(message, side, decoder, depth) {
  if (message.length !== 6 || !Number.isInteger(message[1]) || !Array.isArray(message[5])) none();
  const [, number, cls, said, stack, properties] = message;
  const prototype = typeof cls === "string" ? errorClass(cls).prototype : side.prototypeOf(cls);
  const error = new Error(text(said));
  Object.setPrototypeOf(error, prototype);
  const told = text(stack);
  const frames = read(error, "stack").split("\n").filter((line) => /^\s+at /.test(line));
  if (told !== "") error.stack = [told, "    (in the solution)", ...frames].join("\n");
  for (const pair of properties) {
    if (!Array.isArray(pair) || pair.length !== 2) none();
    const value = decoder.decode(pair[1], depth + 1);
    Object.defineProperty(error, text(pair[0]), { value, writable: true, enumerable: pair[0] !== "cause", configurable: true });
  }
  side.adopt(error, number);
  return error;
}

function errorClass(name) {
  const found = Object.hasOwn(BOTH_HAVE, name) ? BOTH_HAVE[name] : undefined;
  return found === Error || found?.prototype instanceof Error ? found : none();
}

/** An exception's stack without our own frames and Node's. */
function stackText(error) {
  const lines = read(error, "stack").split("\n");
  return cut(lines.filter((line) => !/^\s+at .*\bnode:/.test(line) && !line.includes(HERE)).join("\n"));
}

function read(error, key) {
  try {
    const value = error[key];
    return typeof value === "string" ? value : value === undefined ? "" : String(value);
  } catch {
    return `<its ${key} cannot be read>`;
  }
}

function cut(said) {
  if (said.length <= MAX_TEXT) return said;
  const half = MAX_TEXT / 2;
  return `${said.slice(0, half)}\n… ${said.length - 2 * half} characters left out …\n${said.slice(-half)}`;
}

module.exports = { cut, decodeError, encodeError, read, stackText };
