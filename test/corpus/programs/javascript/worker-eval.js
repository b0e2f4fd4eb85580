const { Worker } = require("worker_threads");
// The worker throws only when it is told to: a message and an error in one turn arrive in either order.
const code = `const { parentPort } = require('worker_threads');
parentPort.once('message', () => { throw new Error('in worker'); });
parentPort.postMessage(process.argv.length + ':' + typeof require);`;
const w = new Worker(code, { eval: true });
w.on("message", (m) => {
  console.log(m);
  w.postMessage("throw");
});
w.on("error", (e) => console.log("error", e.message)).on("exit", (c) => console.log(c));
