import type { Command } from "commander";
import { addCommand, addRunOptions, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry exec -- ls -la
  skerry exec -- sh -c 'ls -la; id'
  skerry exec --session work -- make test
  skerry exec --policy policy.yaml --role code_assistant -- ls -la
  echo hello | skerry exec -- tr a-z A-Z`;

/** `exec`. */
export function defineExec(program: Command): void {
  const exec = addCommand(program, "exec", "run a command in a sandbox", EXAMPLES)
    .argument("<command>", "the command")
    .argument("[args...]", "its arguments")
    .passThroughOptions();
  setAction(exec, async (command) => (await import("./exec.js")).exec(command.args, command.opts()));
  addRunOptions(exec);
}
