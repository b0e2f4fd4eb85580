import type { Command } from "commander";
import { examples, leaf } from "../../definition/define-command.js";
import { guards, reach, walls } from "../run/define.js";

const EXAMPLES = `
  claude mcp add skerry -- skerry mcp                            from then on Claude Code starts it
  skerry mcp --session work                                      with files that stay
  skerry mcp --policy policy.yaml --role code_assistant          the client asks about what needs approval
  skerry mcp --allow-domain pypi.org --memory 1gb`;

/** `mcp`. */
export function defineMcp(program: Command): void {
  const mcp = program
    .command("mcp")
    .description("serve the tools to an MCP client, over standard input and output");
  leaf(mcp, async (command) => (await import("./mcp.js")).mcp(command.opts()));
  guards(reach(walls(mcp)), "the client's person");
  examples(mcp, EXAMPLES);
}
