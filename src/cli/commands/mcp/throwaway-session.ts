import { randomBytes } from "node:crypto";
import type { SandboxManager } from "../../../core/manager/index.js";
import { isOrphaned, processLabel } from "../../../kit/process-label.js";

const NAME = /^mcp-(\d+-\d+-[0-9a-f]{12})$/;

/** The name of a session whose files go with this process: a later process can tell whose it was. */
export function throwawaySessionName(): string {
  return `mcp-${processLabel(randomBytes(6).toString("hex"))}`;
}

/** Removes such sessions of processes that were killed; resolves to how many. */
export async function removeAbandonedSessions(manager: SandboxManager): Promise<number> {
  let removed = 0;
  for (const { sessionId } of await manager.listSessions()) {
    const label = NAME.exec(sessionId)?.[1];
    if (label !== undefined && isOrphaned(label) && (await manager.deleteSession(sessionId))) removed++;
  }
  return removed;
}
