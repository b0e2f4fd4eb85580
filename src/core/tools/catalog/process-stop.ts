import { z } from "zod";
import { workOnProcess } from "../files/work-on-process.js";
import { createReply } from "../replies/tool-reply.js";
import { CHANGES, defineTool } from "../tool.js";

/** `process_stop`: ends a process and all that it started. */
export const processStop = defineTool({
  name: "process_stop",
  title: "Stop a process",
  description: "Ends a process of process_start, with all that it started.",
  input: z.strictObject({ id: z.string().min(1).describe("From process_start.") }),
  annotations: CHANGES,
  run: ({ id }, context) =>
    workOnProcess(context, { tool: "process_stop", id, summary: `stop process ${id}` }, async (process) => {
      await process.close();
      return createReply({
        status: "success",
        summary: `The process ${id} has ended`,
        data: { ...process.info() },
        words: ["It has ended. process_logs still has what it printed."],
      });
    }),
});
