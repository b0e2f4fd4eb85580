import { z } from "zod";
import { compileGlob, type Entry } from "../../../runtime/workspace/index.js";
import type { GuardedFiles } from "../../manager/index.js";
import { createLineSearch, type LineSearch } from "../files/line-search.js";
import { isBinary } from "../files/text-window.js";
import { reads, useFilesAt } from "../files/use-files.js";
import { createReply, invalidArguments } from "../replies/tool-reply.js";
import { defineTool, READS } from "../tool.js";
import { listed } from "./file-list.js";

const DEFAULT_MATCHES = 100;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_TOTAL_BYTES = 256 * 1024 * 1024;

interface Match {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** `file_search`: files by name, and lines by what stands in them. */
export const fileSearch = defineTool({
  name: "file_search",
  title: "Search files",
  description:
    "Finds files of the session's workspace by name (`name`, a glob such as `*.py` or `src/**/test_*`), lines by content " +
    "(`content`), or lines in files of such names. Files that are not text, or larger than 4 MiB, are not searched.",
  input: z.strictObject({
    name: z
      .string()
      .min(1)
      .optional()
      .describe("A glob for paths; without a slash it is for names in any directory."),
    content: z.string().min(1).max(1000).optional().describe("What a line contains."),
    regex: z.boolean().optional().describe("`content` is a JavaScript regular expression. Default false."),
    ignoreCase: z.boolean().optional().describe("Default false."),
    path: z.string().optional().describe("Where to look, relative to the workspace. Default: everywhere."),
    limit: z.number().int().min(1).max(1000).optional().describe(`How many. Default ${DEFAULT_MATCHES}.`),
  }),
  annotations: READS,
  run: async ({ limit = DEFAULT_MATCHES, ...args }, context) => {
    const { name, content, regex = false, ignoreCase = false } = args;
    let search: LineSearch | undefined;
    try {
      return await useFilesAt(context, { tool: "file_search", path: args.path ?? "." }, (path) => {
        if (name === undefined && content === undefined) {
          throw invalidArguments(
            'file_search: "name" or "content" is missing',
            "Give a name, a content, or both.",
          );
        }
        const isWanted = name === undefined ? () => true : compileGlob(name);
        search = content === undefined ? undefined : createLineSearch(content, { regex, ignoreCase });
        return {
          summary: `search ${path}${name === undefined ? "" : ` for files ${name}`}${content === undefined ? "" : ` for lines with ${JSON.stringify(content)}`}`,
          paths: [reads(path)],
          work: async (guarded) => {
            const entries = await listed(guarded, path, true);
            const named = entries.filter((entry) => isWanted(entry.path));
            return search === undefined
              ? filesReply(named, limit)
              : linesReply(await searchLines(guarded, named, search, limit, context.signal), limit);
          },
        };
      });
    } finally {
      search?.[Symbol.dispose]();
    }
  },
});

async function searchLines(
  { files }: GuardedFiles,
  entries: readonly Entry[],
  search: LineSearch,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly matches: Match[]; readonly skipped: number }> {
  const matches: Match[] = [];
  let [total, skipped] = [0, 0];
  for (const { path, type, size } of entries) {
    signal?.throwIfAborted();
    if (matches.length > limit) break;
    if (type !== "file") continue;
    if (size > MAX_FILE_BYTES || total + size > MAX_TOTAL_BYTES) {
      skipped++;
      continue;
    }
    // Meanwhile it may be gone, or something else.
    const bytes = await files.read(path).catch(() => undefined);
    if (bytes === undefined || isBinary(bytes)) {
      skipped++;
      continue;
    }
    total += bytes.length;
    for (const { line, text } of await search.find(bytes.toString("utf8"), limit + 1 - matches.length))
      matches.push({ path, line, text });
  }
  return { matches, skipped };
}

function filesReply(entries: readonly Entry[], limit: number) {
  const found = entries.slice(0, limit).map(({ path, type, size }) => ({ path, type, size }));
  const summary = `${entries.length} ${entries.length === 1 ? "file" : "files"} found${entries.length > limit ? `, the first ${limit} of which are listed` : ""}`;
  const text = found.map(({ path }) => JSON.stringify(path)).join("\n");
  return createReply({
    status: "success",
    summary,
    data: { files: found, truncated: entries.length > limit },
    inside: found.length === 0 ? [] : [{ what: "Names of files follow", text }],
    words: [summary],
  });
}

function linesReply({ matches, skipped }: { matches: readonly Match[]; skipped: number }, limit: number) {
  const found = matches.slice(0, limit);
  const more = matches.length > limit;
  const summary = `${more ? `More than ${limit}` : found.length} ${found.length === 1 && !more ? "line" : "lines"} found${skipped > 0 ? `; ${skipped} files are no text or too large` : ""}`;
  const text = found
    .map(({ path, line, text: each }) => `${JSON.stringify(path)}:${line}: ${each}`)
    .join("\n");
  return createReply({
    status: "success",
    summary,
    data: { matches: found, truncated: more, filesSkipped: skipped },
    inside: found.length === 0 ? [] : [{ what: "Lines of files follow", text }],
    words: [summary],
  });
}
