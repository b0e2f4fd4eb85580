import { z } from "zod";
import { workOnProcess } from "../files/work-on-process.js";
import { createReply } from "../replies/tool-reply.js";
import { defineTool, READS } from "../tool.js";

/** `process_logs`: what a process printed, and whether it still runs. */
export const processLogs = defineTool({
  name: "process_logs",
  title: "Read a process's output",
  description:
    "What a process of process_start has printed so far, and whether it runs. With `since`, only what came after an earlier reading.",
  input: z.strictObject({
    id: z.string().min(1).describe("From process_start."),
    since: z.number().int().min(0).optional().describe("`next` of the reading before."),
  }),
  annotations: READS,
  run: ({ id, since = 0 }, context) =>
    workOnProcess(
      context,
      { tool: "process_logs", id, summary: `read the output of process ${id}` },
      async (process) => {
        const { text, next, dropped } = process.read(since);
        const { state, exitCode, reason, error } = process.info();
        const end =
          state === "running" ? "It runs." : `It has ended: ${error ?? `exit code ${exitCode ?? reason}`}.`;
        return createReply({
          status: "success",
          summary: end,
          data: { ...process.info(), output: text, next, dropped },
          inside: text === "" ? [] : [{ what: "What the process printed follows", text }],
          words: [
            ...(text === "" ? ["(no new output)"] : []),
            ...(dropped > 0 ? [`${dropped} bytes before this are no longer kept.`] : []),
            `${end} next: ${next}`,
          ],
        });
      },
    ),
});
