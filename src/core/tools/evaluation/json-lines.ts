import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { z } from "zod";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";

/** Far more than any benchmark has, and little enough to keep. */
const MAX_BYTES = 1024 ** 3;
const MAX_LINES = 1_000_000;
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Every line of a file, plain or gzipped, checked by a schema. A line that is none is an error that names it. */
export async function readJsonLines<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.infer<Schema>[]> {
  const name = escapeUnsafe(basename(path));
  const rows: z.infer<Schema>[] = [];
  let number = 0;
  for await (const line of linesOf(path, name)) {
    number++;
    if (line.trim() === "") continue;
    if (rows.length >= MAX_LINES) throw tooLarge(name, `more than ${MAX_LINES} lines`);
    rows.push(parseLine(line, schema, `${name}, line ${number}`));
  }
  return rows;
}

/** The value of one line; `where` is for the message. */
export function parseLine<Schema extends z.ZodType>(
  line: string,
  schema: Schema,
  where: string,
): z.infer<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new SandboxError("INVALID_ARGUMENT", `${where}: not a line of JSON`, {
      hint: "Each line is one JSON object, as in HumanEval's own files.",
      cause: error,
    });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.length ? ` at ${escapeUnsafe(issue.path.join("."))}` : "";
  throw new SandboxError("INVALID_ARGUMENT", `${where}: ${escapeUnsafe(issue?.message ?? "wrong")}${place}`, {
    hint: "docs/evaluation.md has the formats.",
  });
}

async function* linesOf(path: string, name: string): AsyncIterable<string> {
  const file = createReadStream(path);
  const source: Readable = path.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  // A pipe does not pass an error on.
  file.once("error", (error) => source.destroy(error));
  let bytes = 0;
  source.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) source.destroy(tooLarge(name, `more than ${MAX_BYTES} bytes`));
  });
  const failed = new Promise<never>((_, reject) => source.once("error", reject));
  failed.catch(() => undefined);
  const lines = createInterface({ input: source, crlfDelay: Number.POSITIVE_INFINITY })[
    Symbol.asyncIterator
  ]();
  try {
    for (;;) {
      const { value, done } = await Promise.race([lines.next(), failed]);
      if (done === true) return;
      if (value.length > MAX_LINE_BYTES) throw tooLarge(name, `a line of more than ${MAX_LINE_BYTES} bytes`);
      yield value;
    }
  } catch (error) {
    throw unreadable(error, name);
  } finally {
    file.destroy();
    source.destroy();
  }
}

function unreadable(error: unknown, name: string): SandboxError {
  if (error instanceof SandboxError) return error;
  const code = systemCode(error);
  if (code === "ENOENT") {
    return new SandboxError("FILE_NOT_FOUND", `there is no file ${name}`, {
      hint: "Check its name.",
      cause: error,
    });
  }
  const what = code?.startsWith("Z_")
    ? "is not a gzip file, although its name ends in .gz"
    : "cannot be read";
  return new SandboxError("FILE_FAILED", `${name} ${what}`, { hint: "Check what it is.", cause: error });
}

function tooLarge(name: string, what: string): SandboxError {
  return new SandboxError("FILE_TOO_LARGE", `${name} has ${what}`, {
    hint: "Split it into several evaluations.",
  });
}
