import type { Command } from "commander";
import { addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry bench
  skerry bench exec-python create-true --json`;

/** `bench`. */
export function defineBench(program: Command): void {
  const bench = addCommand(program, "bench", "measure the figures we claim on this machine", EXAMPLES)
    .argument("[names...]", "which; default: all")
    .option("--json", "print a JSON array");
  setAction(bench, async (command) => (await import("./bench.js")).bench(command.args, command.opts()));
}
