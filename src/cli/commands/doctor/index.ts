import type { Command } from "commander";
import { addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry doctor
  skerry doctor -v
  skerry doctor --fix
  skerry doctor --json`;

/** `doctor`. */
export function defineDoctor(program: Command): void {
  const doctor = addCommand(
    program,
    "doctor",
    "say what this host can enforce, what is missing and how to get it",
    EXAMPLES,
  )
    .option("-v, --verbose", "print all that was found, and what each backend enforces")
    .option("--json", "print one JSON object")
    .option("--fix", "install what is missing (needs root or sudo)");
  setAction(doctor, async (command) => (await import("./doctor.js")).doctor(command.opts()));
}
