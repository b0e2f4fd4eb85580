import { SandboxError } from "../../../kit/errors.js";
import { oneLine } from "../../../kit/one-line.js";
import type { LiveProcess } from "../../manager/index.js";
import { refusalReply, type ToolReply } from "../replies/tool-reply.js";
import type { ToolContext } from "../tool.js";

/** Does something with a process of the session, through every step of a tool call. */
export async function workOnProcess(
  { manager, caller, signal }: ToolContext,
  { tool, id, summary }: { readonly tool: string; readonly id: string; readonly summary: string },
  work: (process: LiveProcess) => Promise<ToolReply>,
): Promise<ToolReply> {
  const result = await manager.useSandbox<ToolReply>({
    ...caller,
    tool,
    summary: oneLine(summary, 200),
    paths: [],
    signal,
    work: async () => {
      const { processes } = await manager.liveCalls(caller.sessionId);
      const found = processes.get(id);
      if (found !== undefined) return work(found);
      const known = [...processes.keys()].join(", ") || "none";
      throw new SandboxError("NOT_FOUND", "There is no such process in this session", {
        hint: `There are: ${known}.`,
      });
    },
  });
  return refusalReply(result) ?? result.value!;
}
