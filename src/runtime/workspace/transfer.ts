import { type ErrorCode, SandboxError, toSandboxError } from "../../kit/errors.js";
import { compileGlob, isGlob } from "../../kit/glob.js";
import { quoted } from "./file-errors.js";
import { parseInnerPath } from "./relative-path.js";
import type { WorkspaceFiles } from "./workspace-files.js";

const MEBIBYTE = 1024 * 1024;

/** A file that goes into a workspace before an execution. */
export interface InputFile {
  readonly path: string;
  /** Bytes that come one after the other are written as they come. */
  readonly content: Uint8Array | string | AsyncIterable<Uint8Array>;
  /** Permission bits; default 0o644. */
  readonly mode?: number;
}

/** A file that came out of a workspace. */
export interface OutputFile {
  readonly path: string;
  readonly content: Buffer;
}

/** A file on its way out of a workspace, to be read once. */
export interface OutputStream {
  readonly path: string;
  readonly content: AsyncIterable<Buffer>;
}

export interface CollectOptions {
  /** Of all files together. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Default 1000. */
  readonly maxFiles?: number;
  /** What must not come out: it is skipped, and not even opened. */
  readonly isDenied?: (path: string) => boolean;
  /** Takes one file after the other, so that none is kept in memory. What it throws is why that file is skipped. */
  readonly take?: (file: OutputStream) => Promise<void> | void;
  /** Ends the file that is being taken, and leaves out the rest. */
  readonly signal?: AbortSignal;
}

export interface Collected {
  /** Sorted by path; empty where `take` took them. */
  readonly files: readonly OutputFile[];
  /** What `take` took, and how much of each it read. */
  readonly taken?: readonly { readonly path: string; readonly bytes: number }[];
  /** What was asked for or matched, but did not come, and why. */
  readonly skipped: readonly { readonly path: string; readonly code: ErrorCode; readonly message: string }[];
  /** True when more matched than `maxFiles`, or the workspace was too large to be searched to its end. */
  readonly truncated: boolean;
}

/** Writes the files of a call into the workspace. Every path is checked before the first byte is written. */
export async function putInputFiles(workspace: WorkspaceFiles, files: readonly InputFile[]): Promise<void> {
  const seen = new Set<string>();
  for (const file of files) {
    const { text } = parseInnerPath(file.path);
    if (seen.has(text)) {
      throw new SandboxError("INVALID_ARGUMENT", `${quoted(text)} is given twice`, {
        hint: "Give each path once.",
      });
    }
    seen.add(text);
  }
  for (const { path, content, mode } of files) {
    const options = mode === undefined ? {} : { mode };
    if (typeof content === "string" || content instanceof Uint8Array)
      await workspace.writeFile(path, content, options);
    else await workspace.writeStream(path, content, options);
  }
}

/**
 * Reads the files at these paths and globs. A path that leaves the workspace throws; a file that is missing, too
 * large or not a regular file is skipped with its reason.
 */
export async function collectOutputFiles(
  workspace: WorkspaceFiles,
  patterns: readonly string[],
  options: CollectOptions = {},
): Promise<Collected> {
  const { take, isDenied, maxFiles = 1000 } = options;
  let remainingBytes = options.maxBytes ?? 64 * MEBIBYTE;
  const files: OutputFile[] = [];
  const taken: { path: string; bytes: number }[] = [];
  const skipped: { path: string; code: ErrorCode; message: string }[] = [];
  const { paths, truncated } = await resolvePatterns(workspace, patterns);
  const collected = (isCut: boolean): Collected => ({
    files,
    ...(take !== undefined && { taken }),
    skipped,
    truncated: isCut,
  });

  for (const path of paths) {
    // Also bounds the list of what was skipped: the guest decides how much matches.
    if (files.length + taken.length + skipped.length >= maxFiles) return collected(true);
    try {
      if (isDenied?.(path)) throw new SandboxError("FILE_DENIED", "The policy denies this path");
      if (take === undefined) {
        const content = await workspace.readFile(path, { maxBytes: remainingBytes });
        remainingBytes -= content.length;
        files.push({ path, content });
      } else {
        const count = (bytes: number) => {
          remainingBytes -= bytes;
        };
        const limits = { maxBytes: remainingBytes, signal: options.signal, count };
        taken.push({ path, bytes: await giveOut(workspace, path, take, limits) });
      }
    } catch (error) {
      if (take === undefined && !(error instanceof SandboxError)) throw error;
      const { code, message } = toSandboxError(error, "FILE_FAILED");
      skipped.push({ path, code, message });
    }
  }
  return collected(truncated);
}

interface GiveLimits {
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
  /** Told of every piece, also of a file that does not come to its end. */
  readonly count: (bytes: number) => void;
}

/** Hands a file out as it is read; resolves to how much of it was. */
async function giveOut(
  workspace: WorkspaceFiles,
  path: string,
  take: NonNullable<CollectOptions["take"]>,
  { maxBytes, signal, count }: GiveLimits,
): Promise<number> {
  const cancelled = () => new SandboxError("CANCELLED", "It was cancelled before all of the file was out");
  if (signal?.aborted) throw cancelled();
  const stream = await workspace.createReadStream(path, { maxBytes });
  const onAbort = () => stream.destroy(cancelled());
  // The caller may not be reading when it fails.
  stream.on("error", () => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  let bytes = 0;
  async function* content(): AsyncGenerator<Buffer> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      count(chunk.length);
      yield chunk;
    }
  }
  try {
    await take({ path, content: content() });
    return bytes;
  } finally {
    signal?.removeEventListener("abort", onAbort);
    stream.destroy();
  }
}

async function resolvePatterns(workspace: WorkspaceFiles, patterns: readonly string[]) {
  const paths = new Set<string>();
  for (const pattern of patterns) {
    if (!isGlob(pattern)) paths.add(parseInnerPath(pattern).text);
  }
  const matchers = patterns.filter(isGlob).map(compileGlob);
  let truncated = false;
  if (matchers.length > 0) {
    const scan = await workspace.scan(".", { recursive: true, limit: 20_000 });
    truncated = scan.truncated;
    for (const { path, type } of scan.entries) {
      if (type !== "directory" && matchers.some((matches) => matches(path))) paths.add(path);
    }
  }
  return { paths: [...paths].sort(), truncated };
}
