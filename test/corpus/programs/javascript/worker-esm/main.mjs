import { Worker } from "node:worker_threads";
const w = new Worker(new URL("./w.mjs", import.meta.url));
w.on("message", (m) => { console.log(m); w.terminate(); });
