import { coversPath, pathGlob, resolveSandboxPath } from "../../../guard/policy/index.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { Collected } from "../../../runtime/workspace/index.js";
import { StreamedInput } from "../files/streamed-input.js";
import type { AcquiredSandbox } from "./acquire-sandbox.js";
import type { CallPlan } from "./assess-call.js";
import type { CheckedCall } from "./checked-call.js";

/** Puts the call's input files in place. Every path is checked before the first byte is written. */
export async function placeFiles(
  sandbox: RunningSandbox,
  { files, kind }: CheckedCall,
  signal: AbortSignal | undefined,
): Promise<void> {
  // The task of a file call writes them itself, unless it says otherwise.
  if (kind.type === "files" && kind.task.isPlaced !== true) return;
  const wanted = Object.entries(files ?? {}).map(([path, content]) => ({
    path,
    content: content instanceof StreamedInput ? content.content(signal) : content,
  }));
  if (wanted.length > 0) await sandbox.files.writeAll(wanted);
}

/** Brings the files back that the call asked for; undefined when it asked for none. */
export async function collectFiles(
  { sandbox, workspaceMb }: AcquiredSandbox,
  { outputFiles, onOutputFile }: CheckedCall,
  { decision }: CallPlan,
  signal: AbortSignal | undefined,
): Promise<Collected | undefined> {
  if (outputFiles === undefined) return undefined;
  // A glob may find what the policy keeps back.
  const denied = (decision?.deniedPaths ?? []).map(pathGlob);
  return sandbox.files.collect(outputFiles, {
    isDenied: (path) => denied.some((glob) => coversPath(glob, resolveSandboxPath(path))),
    ...(onOutputFile !== undefined && {
      take: onOutputFile,
      // A sparse file of any size fits into a workspace; on this host it would be written out.
      ...(workspaceMb !== undefined && { maxBytes: Math.ceil(workspaceMb * 1024 * 1024) }),
    }),
    // A program that was cancelled may have left something; only what comes later ends the copying.
    ...(signal?.aborted === false && { signal }),
  });
}
