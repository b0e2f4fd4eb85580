import type { Command } from "commander";
import { addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = {
  pool: `
  skerry pool status`,
  status: `
  skerry pool status
  skerry pool status --json`,
} as const;

/** `pool …`. */
export function definePool(program: Command): void {
  const group = addCommand(program, "pool", "sandboxes that programs keep ready", EXAMPLES.pool);
  const status = addCommand(
    group,
    "status",
    "print each pool of your processes: what is idle, in use and waited for, hits and misses",
    EXAMPLES.status,
  ).option("--json", "print a JSON array");
  setAction(status, async (command) => (await import("./pool.js")).status(command.opts()));
}
