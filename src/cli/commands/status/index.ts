import type { Command } from "commander";
import { addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry status
  skerry status --json
  skerry status --local        # without a server: this user's own state directory

The exit status is 1 when something needs attention.`;

/** `status`. */
export function defineStatus(program: Command): void {
  const status = addCommand(
    program,
    "status",
    "the run-time checklist of a running server: what was found, and what to do",
    EXAMPLES,
  )
    .option("--url <address>", "the server; default: SKERRY_URL, or http://127.0.0.1:7070")
    .option(
      "--key <key>",
      "an API key with the scope admin; default: SKERRY_API_KEY, which others cannot see",
    )
    .option("--local", "look at this user's own state directory instead: pools, audit log, sessions, disk")
    .option("--json", "print one JSON object");
  setAction(status, async (command) => (await import("./status.js")).status(command.opts()));
}
