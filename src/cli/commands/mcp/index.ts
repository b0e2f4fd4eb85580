import type { Command } from "commander";
import {
  addCommand,
  addGuardOptions,
  addLimitOptions,
  addNetworkOptions,
  setAction,
} from "../../definition/index.js";

const EXAMPLES = `
  claude mcp add skerry -- skerry mcp                            from then on Claude Code starts it
  claude mcp add skerry -- skerry mcp --project .                the model works on a copy of the directory
  skerry mcp --session work                                      with files that stay
  skerry mcp --policy policy.yaml --role code_assistant          the client asks about what needs approval
  skerry mcp --allow-domain pypi.org --memory 1gb`;

/** `mcp`. */
export function defineMcp(program: Command): void {
  const mcp = addCommand(
    program,
    "mcp",
    "serve the tools to an MCP client, over standard input and output",
    EXAMPLES,
  );
  mcp.option("--project <dir>", "the model works on a copy; skerry diff and apply bring its changes back");
  setAction(mcp, async (command) => (await import("./mcp.js")).mcp(command.opts()));
  mcp.option(
    "--tools <name,…>",
    "which tools: names, default for the nine, all; process_start and others are there only where they are named",
  );
  addGuardOptions(addNetworkOptions(addLimitOptions(mcp)), "the client's person");
}
