import type { ToolCall, ToolResult } from "../../core/manager/index.js";
import { SandboxError } from "../../kit/errors.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { parseInnerPath } from "../../runtime/workspace/index.js";
import type { Transfer } from "../definition/arguments.js";
import { writeHostFiles } from "../input/host-files.js";
import { stderr } from "../output/output.js";

/** The part of a call that brings files to this machine while its sandbox is still there. */
export function outputsOf(transfers: readonly Transfer[]): Pick<ToolCall, "outputFiles" | "onOutputFile"> {
  if (transfers.length === 0) return {};
  const places = new Map<string, Transfer[]>();
  for (const transfer of transfers) {
    const { text } = parseInnerPath(transfer.path);
    places.set(text, [...(places.get(text) ?? []), transfer]);
  }
  return {
    // A path means itself, whatever characters its name has.
    outputFiles: [...places.keys()].map((path) => path.replaceAll(/[*?[{\\]/g, "\\$&")),
    onOutputFile: ({ path, content }) => writeHostFiles(places.get(path) ?? [], content),
  };
}

/** Says what could not be fetched; resolves to an exit status. */
export async function reportOutputs(
  transfers: readonly Transfer[],
  { outputFiles }: ToolResult,
): Promise<number> {
  // Nothing ran, which is said elsewhere.
  if (outputFiles === undefined) return 0;
  let status = 0;
  for (const transfer of transfers) {
    const { text } = parseInnerPath(transfer.path);
    if (outputFiles.taken?.some(({ path }) => path === text)) continue;
    const skipped = outputFiles.skipped.find(({ path }) => path === text);
    const { code, message } = skipped ?? MISSING;
    await stderr.write(`skerry: --output ${escapeUnsafe(transfer.path)}: ${escapeUnsafe(message)}\n`);
    status = new SandboxError(code, message).exitStatus;
  }
  return status;
}

const MISSING = { code: "FILE_NOT_FOUND", message: "there is no such file in the workspace" } as const;
