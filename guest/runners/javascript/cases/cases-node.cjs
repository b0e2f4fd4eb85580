"use strict";
// Runs a solution with cases that the host gives it one by one: `node cases-node.cjs FILE`, a socket to the host on descriptor 3. It
// says what came of each, and never learns what should have come of it. Each case is a process of its own. cases-python.py is the
// same for Python; see guest/runners/README.md.

const { spawn } = require("node:child_process");
const net = require("node:net");
const { constants } = require("node:os");
const path = require("node:path");
const { findSyntaxError } = require("../tests/solution-syntax.cjs");

const MAX_OUTPUT = 1 << 20;
const MAX_ANSWER = 16 << 20;
const KILLED_BY_OTHERS = 137;

const file = path.resolve(process.argv[2]);
const nodeArguments = /\.[cm]?tsx?$/.test(file) ? ["--require", path.join(__dirname, "../programs/typescript-hooks.cjs")] : [];
const wire = new net.Socket({ fd: 3, readable: true, writable: true });
let status = 0;

function say(message) {
  wire.write(frame(message));
}

function frame(message) {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(text.length);
  return Buffer.concat([head, text]);
}

/** The content of the first frame of these bytes, once it is whole. */
function whole(bytes) {
  if (bytes.length < 4 || bytes.length < 4 + bytes.readUInt32LE(0)) return undefined;
  return bytes.subarray(4, 4 + bytes.readUInt32LE(0));
}

/** Kills a case and what it started. */
function end(child) {
  for (const target of [-child.pid, child.pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // It is gone already.
    }
  }
}

/** Has a process of its own call the solution; resolves to what it says, or to how it ended without a word. */
function runCall({ timeoutMs, ...order }) {
  return new Promise((resolve) => {
    const argv = [...nodeArguments, path.join(__dirname, "cases-call.cjs"), file];
    const child = spawn(process.execPath, argv, { stdio: ["ignore", "inherit", "inherit", "pipe"], detached: true });
    let said = Buffer.alloc(0);
    const finish = (done) => {
      clearTimeout(timer);
      end(child);
      resolve(done);
    };
    const timer = setTimeout(() => finish({ timedOut: true }), timeoutMs);
    const pipe = child.stdio[3];
    pipe.on("error", () => {});
    pipe.on("data", (chunk) => {
      said = Buffer.concat([said, chunk]);
      const answer = whole(said);
      if (answer !== undefined) finish(parse(answer));
      else if (said.length > MAX_ANSWER) finish({ tooLong: true });
    });
    pipe.write(frame(order));
    child.on("error", () => finish({ exitCode: 127 }));
    child.on("exit", (exitCode, signal) => {
      // What it said may still be on its way.
      setImmediate(() => setTimeout(() => finish(signal === null ? { exitCode } : { signal: constants.signals[signal] }), 20));
    });
  });
}

function parse(answer) {
  try {
    const done = JSON.parse(answer.toString());
    return typeof done === "object" && done !== null ? done : { exitCode: 0 };
  } catch {
    return { exitCode: 0 };
  }
}

/** Runs the solution as a program: input in, output out. */
function runProgram({ input, args, timeoutMs }) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...nodeArguments, file, ...args], { detached: true });
    const output = { stdout: [], stderr: [] };
    let ended;
    const told = () => Object.fromEntries(Object.entries(output).map(([name, parts]) => [name, Buffer.concat(parts).subarray(0, MAX_OUTPUT).toString()]));
    const stop = (why) => {
      ended ??= why;
      end(child);
    };
    const timer = setTimeout(() => stop({ timedOut: true }), timeoutMs);
    for (const [name, parts] of Object.entries(output)) {
      let size = 0;
      child[name].on("data", (chunk) => {
        size += chunk.length;
        if (size <= MAX_OUTPUT + chunk.length) parts.push(chunk);
        if (size > MAX_OUTPUT) stop({ tooLong: true });
      });
    }
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.on("error", () => resolve({ exitCode: 127, output: true, stdout: "", stderr: "" }));
    // A process that it started may keep its output open.
    child.on("exit", () => end(child));
    child.on("close", (exitCode, signal) => {
      clearTimeout(timer);
      const how = ended ?? (signal === null ? { exitCode, output: true } : { signal: constants.signals[signal] });
      resolve({ ...how, ...told() });
    });
  });
}

async function run(order) {
  const began = performance.now();
  const done = await (order.input === undefined ? runCall(order) : runProgram(order));
  if (done.signal === 9 && !done.timedOut) status = KILLED_BY_OTHERS; // perhaps for memory, which the host knows
  const { loadFailure, ...rest } = done;
  if (loadFailure !== undefined) {
    say({ type: "failed", kind: "error", message: String(loadFailure.message), traceback: String(loadFailure.traceback) });
    wire.end(() => process.exit(1));
    return;
  }
  say({ type: "done", case: order.case, durationMs: performance.now() - began, ...rest });
}

let held = Buffer.alloc(0);
let last = Promise.resolve();
wire.on("data", (chunk) => {
  held = Buffer.concat([held, chunk]);
  for (let content = whole(held); content !== undefined; content = whole(held)) {
    const order = JSON.parse(content.toString());
    held = held.subarray(4 + content.length);
    last = last.then(() => run(order));
  }
});
wire.on("error", () => {});
wire.on("end", () => process.exit(status));

const problem = findSyntaxError(file);
if (problem === undefined) say({ type: "ready" });
else {
  say({ type: "failed", kind: "syntax", ...problem });
  wire.end(() => process.exit(1));
}
