"use strict";
// The thread beside a context's code: it hears the host while the code keeps its own thread busy, and breaks it off.
const inspector = require("node:inspector");
const net = require("node:net");
const { parentPort, workerData } = require("node:worker_threads");

/** Code may go on in another callback: it is broken off again, and then twice as late, since a slow machine needs longer to
 *  tell of its end than to be broken off once more. */
const AGAIN_MS = 50;
const LONGEST_MS = 1600;
/** What is broken off before the code begins may be lost, and nothing would break off the code. */
const BEGIN_MS = 100;

const { control, progress } = workerData;
const [BEGUN, DONE] = [0, 1];
const session = new inspector.Session();
session.connectToMainThread();

/** Settles when what runs there, if anything does, has been left. */
const breakOff = () => new Promise((resolve) => session.post("Runtime.terminateExecution", () => resolve()));

let before = Promise.resolve();

/** Waits until that run is there, but not for long. */
async function reached(point, run, ms) {
  const seen = Atomics.load(progress, point);
  if (seen < run) await Atomics.waitAsync(progress, point, seen, ms).value;
}

async function interrupt(run) {
  await reached(BEGUN, run, BEGIN_MS);
  for (let wait = AGAIN_MS; Atomics.load(progress, DONE) < run; wait = Math.min(2 * wait, LONGEST_MS)) {
    await breakOff();
    parentPort.postMessage({ op: "interrupt", run });
    await reached(DONE, run, wait);
  }
}

function take(order) {
  // The next code begins when no signal for the code before can reach it.
  before = before.then(() => (order.op === "interrupt" ? interrupt(order.run) : parentPort.postMessage(order)));
}

let held = Buffer.alloc(0);
const leave = () => process.kill(process.pid, "SIGKILL");
new net.Socket({ fd: control, readable: true, writable: false })
  .on("data", (chunk) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 4 && held.length >= 4 + held.readUInt32LE(0)) {
      const end = 4 + held.readUInt32LE(0);
      take(JSON.parse(held.toString("utf8", 4, end)));
      held = held.subarray(end);
    }
  })
  .on("end", leave)
  .on("error", leave)
  .on("close", leave);
parentPort.postMessage({ op: "ready" });
