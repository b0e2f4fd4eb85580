import { z } from "zod";
import { SandboxError } from "../../../kit/errors.js";
import { describeMisses, findAll, linesOf } from "../files/find-text.js";
import { isBinary } from "../files/text-window.js";
import { reads, useFilesAt, writes } from "../files/use-files.js";
import { createReply } from "../replies/tool-reply.js";
import { CHANGES, defineTool } from "../tool.js";

const MAX_EDIT_BYTES = 16 * 1024 * 1024;
const MAX_OLD_CHARACTERS = 100_000;
const MAX_NEW_CHARACTERS = 1_000_000;
const MAX_PLACES = 100_000;
const LISTED_LINES = 100;

/** `file_edit`: one exact text of a file becomes another. */
export const fileEdit = defineTool({
  name: "file_edit",
  title: "Edit a file",
  description:
    "Replaces a text of a file of the session's workspace. `oldText` must match exactly, whitespace " +
    "included, and occur once: include enough of the lines around it. With `replaceAll` every occurrence is replaced.",
  input: z.strictObject({
    path: z.string().min(1).describe("Relative to the workspace."),
    oldText: z.string().min(1).max(MAX_OLD_CHARACTERS).describe("What stands there now."),
    newText: z.string().max(MAX_NEW_CHARACTERS).describe("The new text; empty to remove it."),
    replaceAll: z.boolean().optional().describe("Every occurrence, not only one. Default false."),
  }),
  annotations: { ...CHANGES, idempotentHint: false },
  run: ({ oldText, newText, replaceAll = false, ...args }, context) =>
    useFilesAt(context, { tool: "file_edit", path: args.path }, (path) => ({
      summary: `edit ${path}: replace ${oldText.length} characters by ${newText.length}`,
      paths: [reads(path), writes(path)],
      content: { [path]: newText },
      work: async ({ files, changed: tell }) => {
        const before = await files.stat(path);
        if (before.size > MAX_EDIT_BYTES) throw tooLarge(path, before.size);
        const text = decodeText(await files.read(path));
        if (text === undefined) throw binary(path);
        const places = await findAll(text, oldText, MAX_PLACES + 1);
        if (places.length === 0) throw missing(path, await describeMisses(text, oldText));
        if (places.length > MAX_PLACES) throw tooMany(path);
        if (places.length > 1 && !replaceAll) throw ambiguous(path, text, places);
        const content = replaceAt(text, places, oldText, newText);
        if (content === undefined || content.length > MAX_EDIT_BYTES) throw wouldBeTooLarge(path);
        const after = await files.stat(path);
        if (after.modifiedMs !== before.modifiedMs || after.size !== before.size) throw changed(path);
        await files.write(path, content, { mode: before.mode & 0o777 });
        tell(path, "modified");
        const lines = linesOf(text, places.slice(0, LISTED_LINES));
        const where = places.length === 1 ? `line ${lines[0]}` : `${places.length} places`;
        return createReply({
          status: "success",
          summary: `${path} was edited: ${where}`,
          data: { path, replacements: places.length, lines },
          words: [`The file was edited: ${where}`],
        });
      },
    })),
});

/** The text of bytes that are nothing but that: what is not UTF-8 would be written back as something else. */
function decodeText(bytes: Buffer): string | undefined {
  if (isBinary(bytes)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** With every place replaced; undefined: that is far too much to make. */
function replaceAt(
  text: string,
  places: readonly number[],
  oldText: string,
  newText: string,
): Buffer | undefined {
  if (text.length + places.length * (newText.length - oldText.length) > MAX_EDIT_BYTES) return undefined;
  const parts: string[] = [];
  let at = 0;
  for (const place of places) {
    parts.push(text.slice(at, place), newText);
    at = place + oldText.length;
  }
  return Buffer.from(`${parts.join("")}${text.slice(at)}`);
}

function missing(path: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `"oldText" is not in ${JSON.stringify(path)}`, { hint });
}

function ambiguous(path: string, text: string, places: readonly number[]): SandboxError {
  const lines = linesOf(text, places.slice(0, 10));
  const more = places.length > 10 ? ", …" : "";
  return new SandboxError(
    "INVALID_ARGUMENT",
    `"oldText" is ${places.length} times in ${JSON.stringify(path)}: at lines ${lines.join(", ")}${more}`,
    { hint: "Give more of the lines around the one that you mean, or set replaceAll." },
  );
}

function changed(path: string): SandboxError {
  return new SandboxError("FILE_FAILED", `${JSON.stringify(path)} was changed in the meantime`, {
    hint: "Read it again, then edit.",
  });
}

function binary(path: string): SandboxError {
  return new SandboxError("FILE_TYPE", `${JSON.stringify(path)} is not UTF-8 text`, {
    hint: "Change it with run_code.",
  });
}

function tooMany(path: string): SandboxError {
  return new SandboxError(
    "INVALID_ARGUMENT",
    `"oldText" is more than ${MAX_PLACES} times in ${JSON.stringify(path)}`,
    { hint: "Replace it with run_code or shell_exec." },
  );
}

function wouldBeTooLarge(path: string): SandboxError {
  return new SandboxError("FILE_TOO_LARGE", `${JSON.stringify(path)} would be larger than 16 MiB`, {
    hint: "Change it with run_code or shell_exec.",
  });
}

function tooLarge(path: string, size: number): SandboxError {
  return new SandboxError(
    "FILE_TOO_LARGE",
    `${JSON.stringify(path)} has ${size} bytes; the maximum is 16 MiB`,
    {
      hint: "Change it with run_code or shell_exec.",
    },
  );
}
