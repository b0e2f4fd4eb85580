import type { Command } from "commander";
import { type Action, addCommand, addExamples, createChoice, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry approvals ls
  skerry approvals approve 01234567-89ab-cdef-0123-456789abcdef
  skerry approvals reject 01234567-89ab-cdef-0123-456789abcdef --reason "not on a Friday"`;

const SCOPES = ["once", "session"] as const;

/** `approvals …`. */
export function defineApprovals(program: Command): void {
  const group = addCommand(program, "approvals", "what waits for a decision on a running server", EXAMPLES);
  const load = () => import("./approvals.js");
  const add = (name: string, what: string, action: Action): Command =>
    addExamples(
      setAction(group.command(name).description(what), action)
        .option("--url <address>", "the server; default: SKERRY_URL, or http://127.0.0.1:7070")
        .option(
          "--key <key>",
          "an API key with the scope approve; default: SKERRY_API_KEY, which others cannot see",
        )
        .option("--json", "print JSON"),
      EXAMPLES,
    );
  add("ls", "list them, the oldest first", async (command) => (await load()).list(command.opts()));
  add("approve", "let it run", async (command) => (await load()).approve(command.args, command.opts()))
    .argument("<id>")
    .addOption(
      createChoice(
        "--scope <scope>",
        "for this once, or for the session: also when the same is asked in it again",
        SCOPES,
      ).default("once"),
    );
  add("reject", "do not let it run", async (command) => (await load()).reject(command.args, command.opts()))
    .argument("<id>")
    .option("--reason <text>", "what the agent is told");
}
