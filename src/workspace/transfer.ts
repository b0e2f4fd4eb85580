import { type ErrorCode, SandboxError } from "../errors.js";
import { compileGlob, isGlob } from "../syntax/glob.js";
import { quoted } from "./file-errors.js";
import { parseInnerPath } from "./relative-path.js";
import type { WorkspaceFiles } from "./workspace-files.js";

const MEBIBYTE = 1024 * 1024;

/** A file that goes into a workspace before an execution. */
export interface InputFile {
  readonly path: string;
  readonly content: Uint8Array | string;
  /** Permission bits; default 0o644. */
  readonly mode?: number;
}

/** A file that came out of a workspace. */
export interface OutputFile {
  readonly path: string;
  readonly content: Buffer;
}

export interface CollectOptions {
  /** Of all files together. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Default 1000. */
  readonly maxFiles?: number;
}

export interface Collected {
  /** Sorted by path. */
  readonly files: readonly OutputFile[];
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
    await workspace.writeFile(path, content, mode === undefined ? {} : { mode });
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
  const maxFiles = options.maxFiles ?? 1000;
  let remainingBytes = options.maxBytes ?? 64 * MEBIBYTE;
  const files: OutputFile[] = [];
  const skipped: { path: string; code: ErrorCode; message: string }[] = [];
  const { paths, truncated } = await resolvePatterns(workspace, patterns);

  for (const path of paths) {
    // Also bounds the list of what was skipped: the guest decides how much matches.
    if (files.length + skipped.length >= maxFiles) return { files, skipped, truncated: true };
    try {
      const content = await workspace.readFile(path, { maxBytes: remainingBytes });
      remainingBytes -= content.length;
      files.push({ path, content });
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      skipped.push({ path, code: error.code, message: error.message });
    }
  }
  return { files, skipped, truncated };
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
