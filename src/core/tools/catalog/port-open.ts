import { z } from "zod";
import { createReply, refusalReply, type ToolReply } from "../replies/tool-reply.js";
import { defineTool } from "../tool.js";

/** `port_open`: a port inside, for the person's browser. */
export const portOpen = defineTool({
  name: "port_open",
  title: "Open a port",
  description:
    "Opens a port that a process of the sandbox listens on to the person, at 127.0.0.1 of their machine; the reply has the address. Start the server with process_start first.",
  input: z.strictObject({ port: z.number().int().min(1).max(65_535).describe("The port inside.") }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  run: async ({ port }, { manager, caller, signal }) => {
    const result = await manager.useSandbox<ToolReply>({
      ...caller,
      tool: "port_open",
      summary: `open port ${port} of the sandbox to this host`,
      paths: [],
      signal,
      work: async () => {
        const { hostPort } = await manager.openPort(caller.sessionId, port);
        const url = `http://127.0.0.1:${hostPort}/`;
        return createReply({
          status: "success",
          summary: `Port ${port} is at ${url}`,
          data: { port, hostPort, url },
          words: [`The person finds it at ${url}, until the session's sandbox ends.`],
        });
      },
    });
    return refusalReply(result) ?? result.value!;
  },
});
