import { createReadStream, existsSync } from "node:fs";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { checkCodeSize } from "../../kit/code-limits.js";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { findLanguage, type Language, languageForFile, languageNames } from "../../runtime/sandbox/index.js";

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
  if (code !== undefined) {
    const [first] = words;
    if (first !== undefined && languageForFile(first) !== undefined && existsSync(first)) {
      throw new SandboxError("INVALID_ARGUMENT", `give one program, not both --code and ${first}`, {
        hint: "The program's own arguments come after --.",
      });
    }
    return { code, args: words, fromStdin: false };
  }
  const [file, ...args] = words;
  if (file === undefined) {
    throw new SandboxError("INVALID_ARGUMENT", "there is no program", {
      hint: "Give a file, --code TEXT, or - to read the program from standard input.",
    });
  }
  if (file === "-") {
    return { code: await readText(stdin(), "standard input"), args, fromStdin: true };
  }
  const text = await readText(createReadStream(file), file);
  return { code: text, filename: basename(file), args, fromStdin: false };
}

export interface Program extends ProgramSource {
  readonly language: Language;
}

/** The program and its language: the one that was named, or the one of its file's name. */
export async function readProgram(
  words: readonly string[],
  { language, code }: { readonly language?: string; readonly code?: string },
): Promise<Program> {
  const named = language === undefined ? undefined : findLanguage(language);
  const source = await readProgramSource(words, code);
  return { ...source, language: named ?? guessLanguage(source.filename) };
}

/** The language that the name of a program's file says; the error names those that can be meant. */
export function guessLanguage(filename: string | undefined, names = languageNames): Language {
  const language = filename === undefined ? undefined : languageForFile(filename);
  if (language !== undefined) return language;
  const what =
    filename === undefined ? "the program has no file name" : `the name ${filename} does not say it`;
  throw new SandboxError("LANGUAGE_UNKNOWN", `the language is unknown: ${what}`, {
    hint: `Add --language with one of: ${names.join(", ")}.`,
  });
}

/** For commands that only look at a program: it has no arguments, and comes from one place. */
export async function readOnlyProgram(
  words: readonly string[],
  options: { readonly language?: string; readonly code?: string },
): Promise<Program> {
  if (options.code !== undefined && words.length > 0) {
    throw new SandboxError("INVALID_ARGUMENT", "give one program, not both --code and a file", {
      hint: "Give one of them.",
    });
  }
  return readProgram(words, options);
}

/** All of a stream as text; refuses what is too large, or no text. `otherwise` is what to do where there is no such file. */
export async function readText(
  stream: Readable,
  name: string,
  otherwise = "Check the path, or give the program with --code.",
): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      total += chunk.length;
      checkCodeSize(total, name);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof SandboxError ? error : unreadable(name, error, otherwise);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new SandboxError("INVALID_ARGUMENT", `${name} is not UTF-8 text`, { cause });
  }
}

function unreadable(name: string, cause: unknown, otherwise: string): SandboxError {
  switch (systemCode(cause)) {
    case "ENOENT":
    case "ENOTDIR":
      return new SandboxError("FILE_NOT_FOUND", `${name}: there is no such file`, {
        hint: otherwise,
        cause,
      });
    case "EISDIR":
      return new SandboxError("FILE_TYPE", `${name} is a directory`, { hint: "Give a file.", cause });
    case "EACCES":
      return new SandboxError("FILE_DENIED", `${name}: no permission to read it`, { cause });
    default:
      return new SandboxError(
        "FILE_FAILED",
        `${name}: cannot be read (${systemCode(cause) ?? String(cause)})`,
        { cause },
      );
  }
}
