"use strict";
// One call of a solution: `node cases-call.cjs FILE`, with the order on descriptor 3, where the answer goes, too. See cases-node.cjs.

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const { inspect } = require("node:util");
const { pathToFileURL } = require("node:url");
const { cut, read, stackText } = require("../split-tests/split-errors.cjs");
const { BOTH_HAVE } = require("../split-tests/split-objects.cjs");
const { Decoder, Encoder, none } = require("../split-tests/split-values.cjs");

const PIPE = 3;
const MAX_NAMES = 8;
/** By which a solution lets us see the names of its file. */
const EVALUATE = Symbol.for("skerry.evaluate");
const HOOK = '\n;globalThis[Symbol.for("skerry.evaluate")] = (skerryText) => eval(skerryText);\n';

const file = path.resolve(process.argv[2]);
process.argv = [process.argv[0], file];
const leave = process.reallyExit.bind(process);
const write = fs.writeSync;

function readOrder() {
  const take = (size) => {
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size; ) at += fs.readSync(PIPE, bytes, at, size - at, null) || leave(1);
    return bytes;
  };
  return JSON.parse(take(take(4).readUInt32LE(0)).toString());
}

function answer(message) {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(text.length);
  const bytes = Buffer.concat([head, text]);
  for (let at = 0; at < bytes.length; ) at += write(PIPE, bytes, at);
  leave(0);
}

/** The solution's exports, and a way to evaluate text among its names. */
async function load() {
  if (file.endsWith(".mjs")) {
    const { href } = pathToFileURL(file);
    if (typeof Module.register !== "function") throw new Error("ES modules with cases need Node.js 20.6 or newer inside the sandbox");
    Module.register(pathToFileURL(path.join(__dirname, "cases-loader.mjs")), { data: { href, hook: HOOK } });
    return import(href);
  }
  const compile = Module.prototype._compile;
  Module.prototype._compile = function (content, filename) {
    if (filename !== file) return compile.call(this, content, filename);
    Module.prototype._compile = compile;
    return compile.call(this, content + HOOK, filename);
  };
  return require(file);
}

function evaluator(exports) {
  const evaluate = globalThis[EVALUATE];
  // What is exported without having a name in the file is meant by the name that it is exported by.
  for (const name of Object(exports) === exports ? Object.keys(exports) : []) {
    if (/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) && isFree(name, evaluate)) globalThis[name] = exports[name];
  }
  return evaluate;
}

function isFree(name, evaluate) {
  try {
    return evaluate(`typeof ${name}`) === "undefined";
  } catch {
    return false; // a word of the language's own, such as default
  }
}

function call(evaluate, { expression, function: target, arguments: given }) {
  if (expression !== undefined) return evaluate(`(${expression}\n)`);
  const [first, ...rest] = target.split(".");
  let self;
  let found = evaluate(first);
  for (const key of rest) [self, found] = [found, found[key]];
  const decoder = new Decoder(none);
  return Reflect.apply(found, self, given.map((each) => decoder.decode(each)));
}

/** What has no plain form: arrays of other classes count as arrays, the rest is only shown. */
function opaque(value, encoder, depth) {
  if (Array.isArray(value)) return ["l", encoder.content(value, "l", depth)];
  const name = typeof value === "object" ? (Object.getPrototypeOf(value)?.constructor?.name ?? "Object") : typeof value;
  return ["o", String(name).slice(0, 200), inspect(value, { depth: 2 }).slice(0, 2000)];
}

function raised(error) {
  if (!(error instanceof Error)) return { names: ["throw"], message: cut(inspect(error)), traceback: "" };
  const names = [];
  for (let at = Object.getPrototypeOf(error); at !== null && names.length < MAX_NAMES; at = Object.getPrototypeOf(at)) {
    const { constructor } = at;
    const own = names.length === 0 ? [read(error, "name")] : [];
    for (const name of [...own, String(constructor?.name)]) if (!names.includes(name)) names.push(name.slice(0, 200));
    if (BOTH_HAVE[constructor?.name] === constructor) break;
  }
  return { names: names.slice(0, MAX_NAMES), message: cut(read(error, "message")), traceback: stackText(error) };
}

async function main() {
  const order = readOrder();
  let evaluate;
  try {
    evaluate = evaluator(await load());
  } catch (error) {
    const { names, message, traceback } = raised(error);
    answer({ loadFailure: { message: `${names[0]}: ${message}`, traceback } });
  }
  try {
    answer({ value: new Encoder(opaque).encode(await call(evaluate, order)) });
  } catch (error) {
    answer({ raised: raised(error) });
  }
}

main();
