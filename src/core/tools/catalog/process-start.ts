import { z } from "zod";
import { startLiveProcess } from "../../manager/index.js";
import { createReply } from "../replies/tool-reply.js";
import { defineTool, RUNS } from "../tool.js";

/** `process_start`: a command that goes on beside other calls. A policy's word about `shell_exec` holds for it, too. */
export const processStart = defineTool({
  name: "process_start",
  title: "Start a process",
  description:
    "Starts a command line with bash and leaves it running, for servers and long jobs. Read what it prints with process_logs, end it with process_stop.",
  input: z.strictObject({
    command: z.string().min(1).describe("The command line."),
    cwd: z.string().optional().describe("Relative to the workspace."),
  }),
  annotations: RUNS,
  run: async ({ command, cwd }, { manager, caller, signal }) => {
    const process = await startLiveProcess(manager, {
      ...caller,
      tool: "process_start",
      command,
      cwd,
      signal,
    });
    return createReply({
      status: "success",
      summary: `The process ${process.id} has started`,
      data: { ...process.info() },
      words: [`It runs. Its id is ${process.id}`],
    });
  },
});
