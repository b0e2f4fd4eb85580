import type { Command } from "commander";
import { addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry version
  skerry version --json`;

/** `version`. */
export function defineVersion(program: Command): void {
  const version = addCommand(
    program,
    "version",
    "print the versions of what runs here, for a report of a fault",
    EXAMPLES,
  ).option("--json", "print one JSON object");
  setAction(version, async (command) => (await import("./version.js")).version(command.opts()));
}
