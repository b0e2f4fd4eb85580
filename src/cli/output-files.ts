import { SandboxError, toSandboxError } from "../errors.js";
import type { SandboxManager, ToolResult } from "../manager/index.js";
import { visible } from "../visible.js";
import { parseInnerPath } from "../workspace/relative-path.js";
import type { Transfer } from "./arguments.js";
import { fetchFile, writeHostFile } from "./host-files.js";
import { stderr } from "./output.js";

/** What a call that is thrown away must bring back itself. A session's files are still there afterwards. */
export function outputPatterns(
  transfers: readonly Transfer[],
  session: string | undefined,
): readonly string[] | undefined {
  const paths = transfers.map(({ path }) => parseInnerPath(path).text);
  if (session !== undefined || paths.length === 0) return undefined;
  // A path means itself, whatever characters its name has.
  return paths.map((path) => path.replaceAll(/[*?[{\\]/g, "\\$&"));
}

/** Fetches what can be fetched, and says what could not; resolves to an exit status. */
export async function fetchOutputs(
  transfers: readonly Transfer[],
  result: ToolResult,
  manager: SandboxManager,
  session: string | undefined,
): Promise<number> {
  // Nothing ran, which is said elsewhere.
  if (result.reason === "denied" || result.reason === "rejected") return 0;
  let status = 0;
  for (const transfer of transfers) {
    try {
      if (session !== undefined) await fetchFile(await manager.getSandbox(session), transfer);
      else await writeHostFile(transfer, collectedFile(result, transfer));
    } catch (error) {
      const { message, exitStatus } = toSandboxError(error, "FILE_FAILED");
      await stderr.write(`skerry: --output ${visible(transfer.path)}: ${visible(message)}\n`);
      status = exitStatus;
    }
  }
  return status;
}

function collectedFile({ outputFiles }: ToolResult, transfer: Transfer): Buffer {
  const path = parseInnerPath(transfer.path).text;
  const found = outputFiles?.files.find((file) => file.path === path);
  if (found !== undefined) return found.content;
  const { code, message } = outputFiles?.skipped.find((file) => file.path === path) ?? {};
  throw new SandboxError(code ?? "FILE_NOT_FOUND", message ?? "there is no such file in the workspace");
}
