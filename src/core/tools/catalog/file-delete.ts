import { z } from "zod";
import { SandboxError } from "../../../kit/errors.js";
import type { GuardedFiles } from "../../manager/index.js";
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
        work: async ({ files, maySee, changed }) => {
          const entry = await files.stat(path);
          const gone =
            entry.type === "directory" && recursive ? await beneath(path, files, maySee) : [entry.path];
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

/** What goes with a directory: its files, and itself. What the policy keeps back is not removed with the directory it is in. */
export async function beneath(
  path: string,
  files: GuardedFiles["files"],
  maySee: GuardedFiles["maySee"],
): Promise<string[]> {
  const entries = await files.list(path, { recursive: true });
  if (!entries.every((entry) => maySee(entry.path))) {
    throw new SandboxError("FILE_DENIED", `The policy protects a file in ${JSON.stringify(path)}`, {
      hint: "Delete the files that you may delete by name.",
    });
  }
  return [path, ...entries.filter(({ type }) => type !== "directory").map((entry) => entry.path)];
}
