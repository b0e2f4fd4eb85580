import { parentPort } from "node:worker_threads";
parentPort.postMessage(await Promise.resolve("esm worker"));
setInterval(() => {}, 1000);
