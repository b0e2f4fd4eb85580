import { Worker } from "node:worker_threads";
import path from "node:path";
const w = new Worker(path.join(__dirname, "w.ts"));
w.on("message", (m: unknown) => console.log(m));
