"use strict";
// Frames to and from the host, and questions to the other side over them: split-wire.py says the same in Python. A thread reads,
// so that a call can be waited for both by blocking and by the event loop.

const fs = require("node:fs");
const { MessageChannel, receiveMessageOnPort, Worker } = require("node:worker_threads");

const CONTROL = 3;
const MAX_FRAME = 16 * 1024 * 1024;

/** The other side does not keep to the protocol. Nothing that it says counts any more. */
class Broken extends Error {}

const READER = `
  const { workerData } = require("node:worker_threads");
  const { port, flag, max } = workerData;
  const say = (message) => {
    if (message !== null && Atomics.add(flag, 1, 1) > 1000) {
      message = "too many unread messages";
      socket.destroy();
    }
    port.postMessage(message);
    Atomics.add(flag, 0, 1);
    Atomics.notify(flag, 0);
  };
  let parts = [], held = 0;
  const socket = new (require("node:net").Socket)({ fd: ${CONTROL}, readable: true, writable: false });
  socket.on("data", (chunk) => {
    parts.push(chunk);
    held += chunk.length;
    while (held >= 4) {
      if (parts[0].length < 4) parts = [Buffer.concat(parts)];
      const size = parts[0].readUInt32LE(0);
      if (size > max) return say("a frame that is too long"), socket.destroy();
      if (held < 4 + size) return;
      const all = parts.length === 1 ? parts[0] : Buffer.concat(parts);
      say(Uint8Array.from(all.subarray(4, 4 + size)));
      const rest = all.subarray(4 + size);
      parts = rest.length === 0 ? [] : [rest];
      held = rest.length;
    }
  });
  const end = () => say(null);
  socket.on("error", () => {}).on("close", end);
`;

/** The socket to the host. `serve(message)` answers what is asked, at once or by a promise; `broken(why)` ends this side. */
class Link {
  constructor({ serve, broken, ended, staysAlive }) {
    Object.assign(this, { serve, broken, ended, staysAlive });
    this.flag = new Int32Array(new SharedArrayBuffer(8));
    this.waiting = new Set();
    this.answers = new Map();
    this.later = new Map();
    this.number = 0;
    this.heard = 0;
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    const workerData = { port: port2, flag: this.flag, max: MAX_FRAME };
    this.worker = new Worker(READER, { eval: true, workerData, transferList: [port2], stdin: false, execArgv: [], env: {} });
    this.worker.unref();
    this.port.on("message", (heard) => this.hear(heard));
    if (!staysAlive) this.port.unref();
  }

  /** Says something to the host. */
  tell(message) {
    this.write("J", message);
  }

  /** Has the other side do something, and waits for it: nothing else happens here meanwhile but what it asks for. */
  ask(message) {
    const number = this.send(message);
    this.waiting.add(number);
    for (;;) {
      const answer = this.answers.get(number);
      if (answer !== undefined) {
        this.answers.delete(number);
        this.waiting.delete(number);
        return answer;
      }
      this.hear(this.next());
    }
  }

  /** The same without blocking. It does not keep this process from ending: see split-tests.cjs. */
  request(message) {
    const number = this.send(message);
    return new Promise((resolve) => this.later.set(number, resolve));
  }

  send(message) {
    const number = ++this.number;
    this.write("R", ["q", number, ...message]);
    return number;
  }

  next() {
    for (;;) {
      const seen = Atomics.load(this.flag, 0);
      const heard = receiveMessageOnPort(this.port);
      if (heard !== undefined) return heard.message;
      Atomics.wait(this.flag, 0, seen);
    }
  }

  hear(heard) {
    Atomics.sub(this.flag, 1, 1);
    this.heard++;
    if (heard === null) return this.ended();
    if (typeof heard === "string") return this.broken(heard);
    const message = this.parse(heard);
    if (message === undefined) return this.broken("something that is no message");
    const [kind, number] = message;
    if (kind === "q") return this.answer(number, message.slice(2));
    const resolve = this.later.get(number);
    if (resolve !== undefined) {
      this.later.delete(number);
      return resolve(message);
    }
    if (!this.waiting.has(number) || this.answers.has(number)) return this.broken("an answer without a question");
    this.answers.set(number, message);
  }

  parse(heard) {
    if (heard[0] !== "R".charCodeAt(0)) return undefined;
    try {
      const message = JSON.parse(Buffer.from(heard.buffer, heard.byteOffset + 1, heard.length - 1).toString());
      const isOne = Array.isArray(message) && message.length >= 3 && Number.isSafeInteger(message[1]);
      return isOne && ["q", "a", "e"].includes(message[0]) ? message : undefined;
    } catch {
      return undefined;
    }
  }

  answer(number, asked) {
    const reply = ([kind, ...rest]) => {
      try {
        this.write("R", [kind, number, ...rest]);
      } catch (problem) {
        const [, ...refusal] = this.refuse(problem);
        this.write("R", ["e", number, ...refusal]);
      }
    };
    const answer = this.serve(asked);
    if (answer instanceof Promise) answer.then(reply);
    else reply(answer);
  }

  write(kind, message) {
    const text = Buffer.from(kind + JSON.stringify(message));
    if (text.length > MAX_FRAME) {
      throw new RangeError(`A value of more than ${MAX_FRAME} bytes cannot be handed to the other side of a test`);
    }
    const head = Buffer.alloc(4);
    head.writeUInt32LE(text.length);
    writeAll(Buffer.concat([head, text]));
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Everything, also where the host takes a while: the reader has made the socket one that does not block. */
function writeAll(bytes) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(CONTROL, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }
}

module.exports = { Broken, Link, MAX_FRAME, writeAll };
