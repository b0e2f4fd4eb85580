import type { Command } from "commander";
import { addExamples, addGuardOptions, addSandboxOptions, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry shell
  skerry shell --session work
  skerry shell --session work -- python3`;

/** `shell`. */
export function defineShell(program: Command): void {
  const shell = program
    .command("shell")
    .description("open a terminal in a sandbox")
    .argument("[command...]", "what to run in it; default: a shell")
    .passThroughOptions();
  setAction(shell, async (command) => (await import("./shell.js")).shell(command.args, command.opts()));
  addExamples(addGuardOptions(addSandboxOptions(shell)), EXAMPLES);
}
