import { z } from "zod";
import type { GuardedFiles } from "../../manager/index.js";
import { useFilesAt, writes } from "../files/use-files.js";
import { createReply, invalidArguments } from "../replies/tool-reply.js";
import { CHANGES, defineTool } from "../tool.js";

/** `file_write`: a whole file. */
export const fileWrite = defineTool({
  name: "file_write",
  title: "Write a file",
  description:
    "Writes a file of the session's workspace, and the directories above it. An existing file is replaced, unless " +
    "`createOnly` is true. To change a part of a file, use file_edit.",
  input: z.strictObject({
    path: z.string().min(1).describe("Relative to the workspace."),
    content: z.string().describe("The whole content."),
    encoding: z.enum(["text", "base64"]).optional().describe("What `content` is. Default text."),
    createOnly: z.boolean().optional().describe("Fail if the file exists."),
  }),
  annotations: CHANGES,
  run: ({ content, encoding, createOnly = false, ...args }, context) =>
    useFilesAt(context, { tool: "file_write", path: args.path }, (path) => {
      const bytes = encoding === "base64" ? fromBase64(content) : Buffer.from(content);
      return {
        summary: `write ${path}, ${bytes.length} bytes`,
        paths: [writes(path)],
        content: { [path]: encoding === "base64" ? bytes : content },
        work: async ({ files, changed }) => {
          const mode = createOnly ? undefined : await modeOf(files, path);
          if (createOnly) await files.writeNew(path, bytes);
          else await files.write(path, bytes, mode === undefined ? {} : { mode });
          changed(path, mode === undefined ? "created" : "modified");
          return createReply({
            status: "success",
            summary: `${path} was written: ${bytes.length} bytes`,
            data: { path, size: bytes.length },
            words: [`The file was written: ${bytes.length} bytes`],
          });
        },
      };
    }),
});

/** A script that is overwritten stays executable. Undefined: there is nothing of that name. */
async function modeOf(files: GuardedFiles["files"], path: string): Promise<number | undefined> {
  if (!(await files.exists(path))) return undefined;
  const { type, mode } = await files.stat(path);
  return type === "file" ? mode & 0o777 : 0o644;
}

function fromBase64(text: string): Buffer {
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text.replaceAll(/\s/g, ""))) {
    return Buffer.from(text, "base64");
  }
  throw invalidArguments('file_write: "content" is no base64', "Leave encoding out for plain text.");
}
