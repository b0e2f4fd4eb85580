import type { Command } from "commander";
import { addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry sessions
  skerry sessions ls --json
  skerry sessions rm work`;

/** `sessions …`. */
export function defineSessions(program: Command): void {
  const group = addCommand(program, "sessions", "the sessions whose files are kept", EXAMPLES);
  setAction(
    group.command("ls", { isDefault: true }).description("list them").option("--json", "print a JSON array"),
    async (command) => (await import("./sessions.js")).list(command.opts()),
  );
  setAction(
    group
      .command("rm")
      .description("stop sessions and remove their files; not those of a running server")
      .argument("<names...>")
      .option("--json", "print a JSON array of their names"),
    async (command) => (await import("./sessions.js")).remove(command.args, command.opts()),
  );
}
