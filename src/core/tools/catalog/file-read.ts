import { z } from "zod";
import { SandboxError } from "../../../kit/errors.js";
import type { SandboxFiles } from "../../../runtime/sandbox/index.js";
import { readWindow } from "../files/text-window.js";
import { reads, useFilesAt } from "../files/use-files.js";
import { imageOf, MAX_IMAGE_BYTES } from "../replies/reply-images.js";
import { createReply, type ReplyImage, type ToolReply } from "../replies/tool-reply.js";
import { defineTool, READS } from "../tool.js";

const MAX_TEXT_BYTES = 100_000;
const DEFAULT_LINES = 2000;
const MAX_BASE64_BYTES = 1024 * 1024;

/** `file_read`: lines of a text file, a picture, or the bytes of any other. */
export const fileRead = defineTool({
  name: "file_read",
  title: "Read a file",
  description:
    "Reads a file of the session's workspace. Text comes line by line, from `offset` on; the reply says whether the file goes " +
    `on. At most ${DEFAULT_LINES} lines and ${MAX_TEXT_BYTES} bytes at once. PNG and JPEG are shown. For other files ask for base64, ` +
    "at most 75,000 bytes.",
  input: z.strictObject({
    path: z.string().min(1).describe("Relative to the workspace, for example `src/main.py`."),
    offset: z.number().int().min(1).optional().describe("The first line, from 1. Default 1."),
    limit: z
      .number()
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe(`How many lines. Default ${DEFAULT_LINES}.`),
    encoding: z.enum(["text", "base64"]).optional().describe("Default text."),
  }),
  annotations: READS,
  maxTextCharacters: MAX_TEXT_BYTES,
  run: (args, context) =>
    useFilesAt(context, { tool: "file_read", path: args.path }, (path) => ({
      summary: `read ${path}`,
      paths: [reads(path)],
      work: ({ files }) =>
        args.encoding === "base64" ? readBytes(files, path) : readLines(files, path, args),
    })),
});

async function readLines(
  files: SandboxFiles,
  path: string,
  {
    offset = 1,
    limit = DEFAULT_LINES,
  }: { readonly offset?: number | undefined; readonly limit?: number | undefined },
): Promise<ToolReply> {
  const { size } = await files.stat(path);
  const window = await readWindow(await files.readStream(path), {
    firstLine: offset,
    maxLines: limit,
    maxBytes: MAX_TEXT_BYTES,
  });
  if (window === "binary") {
    const image = size <= MAX_IMAGE_BYTES ? imageOf(await files.read(path)) : undefined;
    if (image !== undefined) return imageReply(path, size, image);
    throw new SandboxError("FILE_TYPE", `${JSON.stringify(path)} is not text: it has ${size} bytes`, {
      hint:
        size > MAX_BASE64_BYTES
          ? "Read it with run_code."
          : 'Use encoding "base64", or read it with run_code.',
    });
  }
  const { text, firstLine, lastLine, isEnd } = window;
  const where = firstLine === 0 ? "nothing" : `lines ${firstLine} to ${lastLine}`;
  const found = `${where}${isEnd ? "" : ", more follows"}`;
  return createReply({
    status: "success",
    summary: `${path}: ${found}`,
    data: { path, content: text, encoding: "text", firstLine, lastLine, isEnd, size },
    inside: [{ what: "The content of the file follows", text }],
    words: [`Of the file: ${found}`],
    most: MAX_TEXT_BYTES,
  });
}

function imageReply(path: string, size: number, image: ReplyImage): ToolReply {
  return createReply({
    status: "success",
    summary: `${path}: a picture of ${size} bytes`,
    data: { path, mimeType: image.mimeType, size },
    words: [`It is a picture of ${size} bytes (${image.mimeType}).`],
    images: [image],
  });
}

async function readBytes(files: SandboxFiles, path: string): Promise<ToolReply> {
  const { size } = await files.stat(path);
  if (size > MAX_BASE64_BYTES) {
    throw new SandboxError(
      "FILE_TOO_LARGE",
      `${JSON.stringify(path)} has ${size} bytes; the maximum is 1 MiB`,
      {
        hint: "Read it with run_code, or split it there.",
      },
    );
  }
  const content = (await files.read(path)).toString("base64");
  // Half of a file in base64 is useless.
  const isShown = content.length <= MAX_TEXT_BYTES;
  return createReply({
    status: "success",
    summary: `${path}: ${size} bytes`,
    data: { path, content, encoding: "base64", size },
    inside: isShown ? [{ what: "The content of the file follows, in base64", text: content }] : [],
    words: [
      isShown
        ? `It has ${size} bytes.`
        : `It has ${size} bytes, too many to show here: read it with run_code.`,
    ],
    most: MAX_TEXT_BYTES,
  });
}
