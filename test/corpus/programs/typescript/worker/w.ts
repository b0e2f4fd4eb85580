import { parentPort } from "node:worker_threads";
const n: number = 3;
parentPort!.postMessage({ n });
