import { toSandboxError } from "../../../kit/errors.js";
import { escapeFileName } from "../../../kit/escape-unsafe.js";
import { oneLine } from "../../../kit/one-line.js";
import { PathTraversalError, parseRelativePath } from "../../../runtime/workspace/index.js";
import type { FileCall, GuardedFiles, TouchedPath } from "../../manager/index.js";
import { refusalReply, type ToolReply } from "../replies/tool-reply.js";
import type { ToolContext } from "../tool.js";

/** What a file tool does, and to which paths. */
interface FileJob extends Pick<FileCall<ToolReply>, "tool" | "summary" | "paths" | "content" | "refusal"> {
  readonly work: (files: GuardedFiles) => Promise<ToolReply>;
}

/** What is shown to a person and recorded. */
const MAX_SUMMARY_CHARACTERS = 1000;

/** Does something to the session's files, through every step of a tool call. */
async function useFiles({ manager, caller, signal }: ToolContext, job: FileJob): Promise<ToolReply> {
  const summary = oneLine(job.summary, MAX_SUMMARY_CHARACTERS);
  const result = await manager.useFiles<ToolReply>({ ...caller, ...job, summary, signal });
  return refusalReply(result) ?? result.value!;
}

/**
 * The same at a path as an agent writes it. A path that leads outside, or whatever else `plan` refuses, is an attempt as any
 * other: it leaves a record.
 */
export async function useFilesAt(
  context: ToolContext,
  { tool, path }: { readonly tool: string; readonly path: string },
  plan: (path: string) => Omit<FileJob, "tool">,
): Promise<ToolReply> {
  return useFiles(context, { tool, ...planned() });

  function planned(): Omit<FileJob, "tool"> {
    try {
      return plan(innerPath(path));
    } catch (error) {
      const refusal = toSandboxError(error);
      return { summary: `${tool} ${path}`, paths: [], refusal, work: () => Promise.reject(refusal) };
    }
  }
}

/** A path as an agent writes it, relative to the workspace: `/workspace/a` and `./a` are `a`. */
export function innerPath(path: string): string {
  const inside = path.replace(/^\/workspace(?=\/|$)/, ".");
  if (inside.startsWith("/")) {
    throw new PathTraversalError(
      `The sandbox does not see the person's files: "${escapeFileName(path)}" is not in the workspace`,
      {
        hint: "Paths are relative to the workspace, or begin with /workspace/. Ask the person for the file.",
      },
    );
  }
  return parseRelativePath(inside).text || ".";
}

/** That a path is read, for the policy. */
export function reads(path: string): TouchedPath {
  return { path, access: "read" };
}

/** That a path is written or removed, for the policy. */
export function writes(path: string): TouchedPath {
  return { path, access: "write" };
}
