/** Runs the attacks in a process of its own, as the user that started it. The request is the first argument. */
import { type Order, runAttacks } from "./run.js";

const order = JSON.parse(process.argv[2] ?? "{}") as Order;
await runAttacks(order, (verdict) => process.stdout.write(`${JSON.stringify(verdict)}\n`));
process.exit(0);
