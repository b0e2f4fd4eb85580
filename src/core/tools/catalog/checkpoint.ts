import { z } from "zod";
import { HandleSnapshots } from "../../manager/index.js";
import { createReply } from "../replies/tool-reply.js";
import { defineTool } from "../tool.js";

/** `checkpoint`: the files of now, to go back to. */
export const checkpoint = defineTool({
  name: "checkpoint",
  title: "Keep the files of now",
  description: "Keeps the workspace's files as they are now, so that rollback can bring them back.",
  input: z.strictObject({ name: z.string().max(100).optional().describe("For the person who lists them.") }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  run: async ({ name }, { manager, caller, signal }) => {
    const snapshots = new HandleSnapshots(manager, { ...caller, signal }, "checkpoint");
    const { id, files, bytes } = await snapshots.create({ name });
    return createReply({
      status: "success",
      summary: `Checkpoint ${id}: ${files} files, ${bytes} bytes`,
      data: { id, files, bytes },
    });
  },
});
