import { z } from "zod";
import { allFilesAt } from "../../manager/index.js";
import { useFilesAt, writes } from "../files/use-files.js";
import { createReply, invalidArguments } from "../replies/tool-reply.js";
import { CHANGES, defineTool } from "../tool.js";

/** `file_delete`: a file, or a directory with all that is in it. */
export const fileDelete = defineTool({
  name: "file_delete",
  title: "Delete a file",
  description:
    "Removes a file, a link or an empty directory of the session's workspace; with `recursive`, a whole directory.",
  input: z.strictObject({
    path: z.string().min(1).describe("Relative to the workspace."),
    recursive: z.boolean().optional().describe("Also a directory with everything in it. Default false."),
  }),
  annotations: CHANGES,
  run: ({ recursive = false, ...args }, context) =>
    useFilesAt(context, { tool: "file_delete", path: args.path }, (path) => {
      if (path === ".")
        throw invalidArguments("file_delete: the workspace itself cannot be deleted", "Name what is in it.");
      return {
        summary: `remove ${path}${recursive ? " and everything in it" : ""}`,
        paths: [writes(path)],
        work: async (guarded) => {
          const { files, changed } = guarded;
          const gone = recursive ? await allFilesAt(path, guarded) : [(await files.stat(path)).path];
          await files.remove(path, { recursive });
          for (const each of gone) changed(each, "deleted");
          return createReply({
            status: "success",
            summary: `${path} was removed`,
            data: { path },
            words: ["It was removed."],
          });
        },
      };
    }),
});
