/** Runs the attacks in a process of its own, as whoever started it: the order is the first argument. */
import { type Order, runAttacks } from "./run.js";

const order = JSON.parse(process.argv[2] ?? "{}") as Order;
await runAttacks(order, (verdict) => process.stdout.write(`${JSON.stringify(verdict)}\n`));
process.exit(0);
