const { Worker, isMainThread, threadId } = require("worker_threads");
const w = new Worker("./worker.js", { workerData: { n: 20 }, argv: ["wa"] });
w.on("message", (m) => console.log("message", m));
w.on("exit", (c) => console.log("exit", c, isMainThread, threadId));
