import { createReadStream } from "node:fs";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { SandboxError, systemCode } from "../errors.js";

/** More than any program; a mistake such as `run /dev/zero` ends here. */
const MAX_CODE_BYTES = 16 * 1024 * 1024;

export interface ProgramSource {
  readonly code: string;
  /** What tracebacks call it. */
  readonly filename?: string;
  readonly args: readonly string[];
  /** True when standard input was the program, so that it has none. */
  readonly fromStdin: boolean;
}

/** Finds the program: --code, a file, or standard input for `-`. */
export async function readProgramSource(
  words: readonly string[],
  code: string | undefined,
  stdin: () => Readable = () => process.stdin,
): Promise<ProgramSource> {
  if (code !== undefined) return { code, args: words, fromStdin: false };
  const [file, ...args] = words;
  if (file === undefined) {
    throw new SandboxError("INVALID_ARGUMENT", "there is nothing to run", {
      hint: "Give a file, --code TEXT, or - to read the program from standard input.",
    });
  }
  if (file === "-") {
    return { code: await readText(stdin(), "standard input"), args, fromStdin: true };
  }
  const text = await readText(createReadStream(file), file);
  return { code: text, filename: basename(file), args, fromStdin: false };
}

async function readText(stream: Readable, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      total += chunk.length;
      if (total > MAX_CODE_BYTES) {
        throw new SandboxError("FILE_TOO_LARGE", `${name} is larger than 16 MiB`, {
          hint: "Is this a program?",
        });
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof SandboxError ? error : unreadable(name, error);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new SandboxError("INVALID_ARGUMENT", `${name} is not UTF-8 text`, { cause });
  }
}

function unreadable(name: string, cause: unknown): SandboxError {
  switch (systemCode(cause)) {
    case "ENOENT":
    case "ENOTDIR":
      return new SandboxError("FILE_NOT_FOUND", `${name}: there is no such file`, {
        hint: "Check the path, or give the program with --code.",
        cause,
      });
    case "EISDIR":
      return new SandboxError("FILE_TYPE", `${name} is a directory`, { hint: "Give a file.", cause });
    case "EACCES":
      return new SandboxError("FILE_DENIED", `${name}: you may not read it`, { cause });
    default:
      return new SandboxError(
        "FILE_FAILED",
        `${name}: cannot be read (${systemCode(cause) ?? String(cause)})`,
        { cause },
      );
  }
}
