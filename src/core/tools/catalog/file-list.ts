import { z } from "zod";
import type { Entry } from "../../../runtime/workspace/index.js";
import type { GuardedFiles } from "../../manager/index.js";
import { reads, useFilesAt } from "../files/use-files.js";
import { createReply } from "../replies/tool-reply.js";
import { defineTool, READS } from "../tool.js";

const DEFAULT_ENTRIES = 500;

/** `file_list`: what is in a directory. */
export const fileList = defineTool({
  name: "file_list",
  title: "List files",
  description: `Lists a directory of the session's workspace: path, type, size and time of change, at most ${DEFAULT_ENTRIES} of them by default.`,
  input: z.strictObject({
    path: z.string().optional().describe("Relative to the workspace. Default: the workspace itself."),
    recursive: z.boolean().optional().describe("Also everything below it. Default false."),
    limit: z.number().int().min(1).max(10_000).optional().describe(`How many. Default ${DEFAULT_ENTRIES}.`),
  }),
  annotations: READS,
  run: ({ recursive = false, limit = DEFAULT_ENTRIES, ...args }, context) =>
    useFilesAt(context, { tool: "file_list", path: args.path ?? "." }, (path) => ({
      summary: `list ${path}`,
      paths: [reads(path)],
      work: async (guarded) => {
        const found = await listed(guarded, path, recursive);
        const entries = found.slice(0, limit).map(describe);
        const more = found.length - entries.length;
        const count = `${found.length} ${found.length === 1 ? "entry" : "entries"}${more > 0 ? `, the first ${limit} of which are listed` : ""}`;
        const rows = entries.map(
          ({ type, size, path: each }) => `${type === "file" ? size : type}\t${JSON.stringify(each)}`,
        );
        return createReply({
          status: "success",
          summary: `${path}: ${count}`,
          data: { path, entries, truncated: more > 0 },
          inside:
            rows.length === 0 ? [] : [{ what: "Sizes and names of the files follow", text: rows.join("\n") }],
          words: [count],
        });
      },
    })),
});

/** What is there and may be seen. */
export async function listed(
  { files, maySee }: GuardedFiles,
  path: string,
  recursive: boolean,
): Promise<Entry[]> {
  return (await files.list(path, { recursive })).filter((entry) => maySee(entry.path));
}

function describe({ path, type, size, modifiedMs }: Entry) {
  return { path, type, size, modifiedAt: new Date(modifiedMs).toISOString() };
}
