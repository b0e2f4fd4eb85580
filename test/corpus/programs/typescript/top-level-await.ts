import { setTimeout as sleep } from "node:timers/promises";
const v: string = await sleep(5, "slept");
console.log(v);
for await (const x of [Promise.resolve(1), 2]) console.log(x);
export const done: boolean = true;
