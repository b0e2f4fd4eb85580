import { z } from "zod";
import { HandleSnapshots } from "../../manager/index.js";
import { createReply } from "../replies/tool-reply.js";
import { CHANGES, defineTool } from "../tool.js";

/** `rollback`: the files of a checkpoint again. */
export const rollback = defineTool({
  name: "rollback",
  title: "Go back to a checkpoint",
  description: "Brings the workspace's files back to a checkpoint. What was changed or made since is gone.",
  input: z.strictObject({ id: z.string().min(1).describe("From checkpoint.") }),
  annotations: CHANGES,
  run: async ({ id }, { manager, caller, signal }) => {
    const snapshots = new HandleSnapshots(manager, { ...caller, signal }, "rollback");
    await snapshots.restore(id);
    return createReply({
      status: "success",
      summary: `The files are those of checkpoint ${id}`,
      data: { id },
    });
  },
});
