const { Worker } = require("worker_threads");
const w = new Worker("require('worker_threads').parentPort.postMessage(process.argv.length + ':' + typeof require); throw new Error('in worker')", { eval: true });
w.on("message", console.log).on("error", (e) => console.log("error", e.message)).on("exit", (c) => console.log(c));
