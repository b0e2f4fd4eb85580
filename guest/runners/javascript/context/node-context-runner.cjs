"use strict";
// What runs the code of a context. It is loaded by node-context.cjs into a realm of its own, whose arrays, strings, promises and
// the like the code cannot replace; `globalThis`, `process` and `Buffer` are the code's, and what is needed of them later is
// taken now. Code runs in the inspector's REPL mode: `let` may be said again, and `await` stands anywhere.
const { Console } = require("node:console");
const fs = require("node:fs");
const inspector = require("node:inspector");
const { createRequire } = require("node:module");
const net = require("node:net");
const path = require("node:path");
const { Writable } = require("node:stream");
const { pathToFileURL } = require("node:url");
const util = require("node:util");
const { promiseHooks } = require("node:v8");
const { Worker } = require("node:worker_threads");

const CONTROL = 3;
const MAX_TEXT = 1 << 20;
/** What every result takes of the budget besides its forms. */
const RESULT_COST = 200;
/** What the host reads of JSON at once. */
const MAX_VALUES = 50_000;
const isTypeScript = process.argv[2] === "typescript";
const suffix = isTypeScript ? "ts" : "js";
const here = `${process.cwd()}${path.sep}`;
const own = {
  exit: process.exit.bind(process),
  cpuUsage: process.cpuUsage.bind(process),
  resourceUsage: process.resourceUsage.bind(process),
  bytesOf: Buffer.from.bind(Buffer),
  thenOfPromises: globalThis.Promise.prototype.then,
  prototypeOfPromises: globalThis.Promise.prototype,
  openSync: fs.openSync,
  writeSync: fs.writeSync,
  inspect: util.inspect,
  isNativeError: util.types.isNativeError,
};
/** The code's own, which it may tell by `instanceof`. */
const { Error, SyntaxError, Object: ObjectOfCode } = globalThis;

// --- The wire -----------------------------------------------------------------------------------------

// Its other half, which hears the host, starts while this one gets ready.
const progress = new Int32Array(new SharedArrayBuffer(8));
const [BEGUN, DONE] = [0, 1];
const watch = new Worker(path.join(__dirname, "node-context-watch.cjs"), { workerData: { control: CONTROL, progress } });
const wire = new net.Socket({ fd: CONTROL, readable: false, writable: true });
const write = writer();

/** Code may be broken off in the middle of this. Below the stream a message is taken whole or not at all; the stream itself
 *  would be left half-way, and wait for ever. */
function writer() {
  try {
    const { WriteWrap } = process.binding("stream_wrap");
    return (buffer) => {
      const request = Object.assign(new WriteWrap(), { handle: wire._handle, buffer, oncomplete() {} });
      wire._handle.writeBuffer(request, buffer);
    };
  } catch {
    return (buffer) => wire.write(buffer); // a Node.js that hides it
  }
}

/** Tells the other half how far the runs are. */
function reach(point, run) {
  Atomics.store(progress, point, run);
  Atomics.notify(progress, point);
}

function send(message) {
  const text = own.bytesOf(JSON.stringify(message));
  const frame = new Uint8Array(4 + text.length);
  new DataView(frame.buffer).setUint32(0, text.length, true);
  frame.set(text, 4);
  write(frame);
}

// --- Output ------------------------------------------------------------------------------------------

/** Everything is written when write() returns, whatever the code does next. Node's own streams do not outlive an interrupt. */
class Output extends Writable {
  constructor(fd) {
    super({ decodeStrings: false });
    this.fd = fd;
  }

  _write(chunk, encoding, done) {
    try {
      const bytes = typeof chunk === "string" ? own.bytesOf(chunk, encoding) : chunk;
      for (let at = 0; at < bytes.length; ) at += own.writeSync(this.fd, bytes, at);
      done();
    } catch (error) {
      done(error);
    }
  }
}

/** The code may close what it finds. */
const outputs = { stdout: ownCopy(1), stderr: ownCopy(2) };

function ownCopy(fd) {
  try {
    return own.openSync(`/proc/self/fd/${fd}`, "w");
  } catch {
    return fd;
  }
}

function renewOutput() {
  for (const [name, fd] of Object.entries(outputs)) {
    const stream = new Output(fd).on("error", () => {});
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
  }
  globalThis.console = new Console({ stdout: process.stdout, stderr: process.stderr });
}

// --- Values -------------------------------------------------------------------------------------------

/** What one piece of code may still show. */
const budget = { run: 0, bytes: 0, cut: false };
const SHOW = Symbol.for("Jupyter.display");

async function formsOf(value) {
  let forms = {};
  const method = Object(value)[SHOW];
  if (typeof method === "function") {
    try {
      forms = { ...(await method.call(value)) };
    } catch {
      // One that fails has its plain form only.
    }
  }
  if (forms["text/plain"] === undefined) forms["text/plain"] = own.inspect(value, { depth: 4, maxStringLength: MAX_TEXT });
  return forms;
}

function show(forms, main) {
  if (budget.bytes < RESULT_COST) {
    budget.cut = true;
    return;
  }
  budget.bytes -= RESULT_COST;
  const kept = {};
  const leftOut = [];
  for (const [type, form] of Object.entries(forms)) {
    const data = ArrayBuffer.isView(form) ? base64Of(form) : form;
    const text = JSON.stringify(data) ?? "";
    const size = own.bytesOf(text).length;
    if (size > budget.bytes || (typeof data !== "string" && text.split(/[,[{]/, MAX_VALUES).length === MAX_VALUES)) {
      budget.cut = true;
      leftOut.push(`${type} of ${size} bytes`);
    } else {
      budget.bytes -= size;
      kept[type] = data;
    }
  }
  if (leftOut.length > 0) {
    const note = `(left out, too large: ${leftOut.join(", ")})`;
    budget.bytes -= own.bytesOf(note).length;
    kept["text/plain"] = kept["text/plain"] === undefined ? note : `${kept["text/plain"]} ${note}`;
  }
  send({ type: "result", run: budget.run, data: kept, main });
}

function base64Of({ buffer, byteOffset, byteLength }) {
  return own.bytesOf(buffer, byteOffset, byteLength).toString("base64");
}

const display = async (...values) => {
  for (const value of values) show(await formsOf(value), false);
};
for (const [name, type] of Object.entries({
  html: "text/html",
  markdown: "text/markdown",
  svg: "image/svg+xml",
  png: "image/png",
  jpeg: "image/jpeg",
  latex: "text/latex",
  json: "application/json",
})) {
  display[name] = (form) => show({ "text/plain": `(${type})`, [type]: form }, false);
}

// --- Code ---------------------------------------------------------------------------------------------

const session = new inspector.Session();
session.connect();

/** It has no answer to what is broken off. `begin` is called just before. */
function ask(method, parameters, begin = () => {}) {
  let settle;
  const answered = new Promise((resolve, reject) => {
    settle = (error, answer) => (error ? reject(new Interrupted()) : resolve(answer));
  });
  begin();
  // Here, so that nothing else is beneath the code in its stack.
  session.post(method, parameters, (error, answer) => settle(error, answer));
  return answered;
}

const TAKE = Symbol.for("skerry.take");
let globalObject;

class Interrupted extends Error {
  constructor() {
    super("The code was interrupted");
    this.name = "Interrupted";
  }
}

class ProcessExit extends Error {
  constructor(code) {
    super(String(code));
    this.name = "ProcessExit";
    this.code = code;
  }
}

/** What the inspector only has a handle of. */
async function valueOf(remote) {
  const { type, objectId, unserializableValue, value } = remote;
  if (type === "undefined") return undefined;
  const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value };
  let taken;
  globalThis[TAKE] = (each) => {
    taken = each;
  };
  await ask("Runtime.callFunctionOn", {
    objectId: globalObject,
    functionDeclaration: "function (each) { this[Symbol.for('skerry.take')](each) }",
    arguments: [argument],
    silent: true,
  });
  delete globalThis[TAKE];
  return taken;
}

/** The value of the last expression. */
async function evaluate(code, name) {
  const expression = `${code}\n//# sourceURL=${name}`;
  const order = { expression, replMode: true, objectGroup: name };
  const answered = ask("Runtime.evaluate", order, holdFirstPromise);
  const promise = held.get(name);
  // The inspector asks a promise for its `then`, which is the code's by now.
  if (promise !== undefined && own.prototypeOfPromises.then !== own.thenOfPromises) return settled(promise).finally(() => held.delete(name));
  const { result, exceptionDetails } = await answered;
  held.delete(name);
  if (exceptionDetails === undefined) return valueOf(result);
  const thrown = exceptionDetails.exception === undefined ? undefined : await valueOf(exceptionDetails.exception);
  throw new Thrown(thrown, exceptionDetails);

  /** The code's own, made as it begins. A Node.js 22 ends when code that waits for ever is collected. */
  function holdFirstPromise() {
    const stop = promiseHooks.onInit((promise) => {
      stop();
      held.set(name, promise);
      reach(BEGUN, budget.run);
    });
  }
}

const held = new Map();

/** What comes of the code's promise, whatever a promise's methods are. */
function settled(promise) {
  return new Promise((resolve, reject) => {
    const fail = (thrown) => reject(new Thrown(thrown, { lineNumber: 0, columnNumber: 0 }));
    Reflect.apply(own.thenOfPromises, promise, [(wrapped) => resolve(wrapped[".repl_result"]), fail]);
  });
}

/** Whatever the code threw, be it no error at all. */
class Thrown {
  constructor(value, { lineNumber, columnNumber }) {
    this.value = value;
    this.line = lineNumber;
    this.column = columnNumber;
  }
}

function describe(failure, code, name) {
  const thrown = failure instanceof Thrown ? failure.value : failure;
  if (!own.isNativeError(thrown) && !(thrown instanceof Error)) {
    const value = own.inspect(thrown);
    return { name: "Thrown", value, traceback: cut(`Uncaught ${value}\n`) };
  }
  const title = `${thrown.name}: ${thrown.message}`;
  const frames = String(thrown.stack ?? "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line) && !/\(?node:|node-context[\w-]*\.cjs|evalmachine\.<anonymous>/.test(line));
  const place = /(?:^|[( ])(cell-\d+\.[jt]s):(\d+):(\d+)\)?$/m.exec(frames.join("\n"));
  const isSyntax = thrown.name === "SyntaxError" && place === null && failure instanceof Thrown;
  const [file, line, column] = place ? [place[1], Number(place[2]), Number(place[3])] : [name, failure.line + 1, failure.column + 1];
  const shown = (place || isSyntax) && file === name ? excerpt(code, line, column) : "";
  const where = isSyntax ? [`    at ${name}:${line}:${column}`] : frames;
  return { name: String(thrown.name), value: cut(String(thrown.message)), traceback: cut([title, ...where, shown].join("\n")) };
}

/** What was thrown may throw itself when it is looked at. */
function describeSafely(failure, code, name) {
  try {
    return describe(failure, code, name);
  } catch {
    return { name: "Error", value: "<its description fails>", traceback: "" };
  }
}

function excerpt(code, line, column) {
  const text = code.split("\n")[line - 1];
  if (text === undefined || text.length > 500) return "";
  const number = String(line);
  return `${number} | ${text}\n${" ".repeat(number.length)} | ${" ".repeat(Math.max(0, column - 1))}^\n`;
}

function cut(text) {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… ${text.length - MAX_TEXT} characters left out`;
}

// Ahead: what is broken off while it is loaded stays half a module.
const typescript = isTypeScript ? require("../programs/typescript-compile.cjs") : undefined;
typescript?.warmUp();

function withoutTypes(code) {
  try {
    return typescript.compileCell(code);
  } catch (error) {
    if (error.line === undefined) throw error;
    const plain = new SyntaxError(error.message);
    plain.stack = "";
    throw new Thrown(plain, { lineNumber: error.line - 1, columnNumber: error.column });
  }
}

let count = 0;
/** The code that runs; the first handler of its end clears it. */
let current;

async function run(order) {
  count += 1;
  const mine = { order, name: `cell-${count}.${suffix}`, before: own.cpuUsage() };
  current = mine;
  Object.assign(budget, { run: order.run, bytes: order.resultBytes, cut: false });
  if (process.stdout.destroyed || process.stderr.destroyed || process.stdout.writableEnded) renewOutput();
  try {
    const value = await evaluate(isTypeScript ? withoutTypes(order.code) : order.code, mine.name);
    if (value !== undefined) show(await formsOf(value), true);
    finish(mine);
  } catch (failure) {
    finish(mine, failure);
  }
}

/** Broken off anywhere, also in what is ours: nothing of it may ever go on. */
function interrupt(run) {
  if (Atomics.load(progress, DONE) >= run) return;
  // Not even its beginning may have been left.
  if (current?.order.run !== run) current = { order: { run, code: "" }, name: "", before: own.cpuUsage() };
  finish(current, new Interrupted());
}

/** What was in the middle of something waits for that for ever: what prints, and modules that were being loaded. */
function tidyUp() {
  renewOutput();
  for (const [name, { loaded }] of Object.entries(require.cache)) if (!loaded) delete require.cache[name];
}

function finish({ order, name, before }, failure) {
  if (current?.order !== order) return;
  if (failure instanceof Interrupted) tidyUp();
  const thrown = failure instanceof Thrown ? failure.value : failure;
  const exitCode = failure === undefined ? 0 : thrown instanceof ProcessExit ? thrown.code : 1;
  const isError = failure !== undefined && (exitCode !== 0 || !(thrown instanceof ProcessExit));
  session.post("Runtime.releaseObjectGroup", { objectGroup: name });
  const used = own.cpuUsage(before);
  send({
    type: "done",
    run: order.run,
    count,
    exitCode,
    error: isError ? describeSafely(failure, order.code, name) : null,
    cut: budget.cut,
    cpuMs: (used.user + used.system) / 1000,
    memoryKb: own.resourceUsage().maxRSS,
  });
  current = undefined;
  reach(DONE, order.run);
}

// --- What the code finds ------------------------------------------------------------------------------

function prepareGlobals() {
  const require = createRequire(here);
  const module = Object.assign(new ObjectOfCode(), { exports: new ObjectOfCode(), filename: `${here}[context]`, paths: require.resolve.paths("x") });
  const hidden = {
    require,
    module,
    exports: module.exports,
    __dirname: process.cwd(),
    display,
    [Symbol.for("skerry.import")]: importer(here),
    [Symbol.for("skerry.meta")]: { url: pathToFileURL(here).href, dirname: process.cwd(), filename: module.filename },
  };
  for (const [name, value] of [...Object.entries(hidden), ...Object.getOwnPropertySymbols(hidden).map((each) => [each, hidden[each]])]) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
  // A notebook goes on; the result has the status.
  process.exit = (code = process.exitCode ?? 0) => {
    throw new ProcessExit(Number(code) & 0xff);
  };
}

/** That this runner uses something experimental is nothing to the code. */
function keepOwnWarnings() {
  const [tell] = process.listeners("warning");
  if (tell === undefined) return;
  process.removeListener("warning", tell);
  process.on("warning", (warning) => {
    if (!String(warning.message).startsWith("vm.USE_MAIN_CONTEXT_DEFAULT_LOADER")) tell(warning);
  });
}

async function main() {
  // An error in a timer or a promise that is not awaited is printed and ends nothing.
  const say = (error) => process.stderr.write(`Uncaught ${own.inspect(error)}\n`);
  process.on("uncaughtException", say);
  process.on("unhandledRejection", say);
  // Ctrl-C is for what the code started; the code itself is broken off by the thread beside it.
  process.on("SIGINT", () => {});
  renewOutput();
  keepOwnWarnings();
  process.argv.splice(1, process.argv.length, "");
  prepareGlobals();
  globalObject = (await ask("Runtime.evaluate", { expression: "globalThis" })).result.objectId;
  const leave = () => own.exit(1);
  watch.on("error", leave).on("exit", leave);
  watch.on("message", (order) => {
    if (order.op === "ready") send({ type: "ready" });
    else if (order.op === "run") run(order);
    else if (order.op === "interrupt") interrupt(order.run);
    else send({ type: "refused", why: "only Python's state can be copied" });
  });
}

main();
