import type { AuditLogger } from "../../guard/audit/index.js";
import type { CallerIdentity } from "../sessions/index.js";

/** Records what a caller does without the manager. AUDIT_FAILED: it cannot be recorded, so it must not be done. */
export async function recordEvent(
  audit: AuditLogger | undefined,
  { sessionId, orgId, agentId, role, requestId }: CallerIdentity,
  eventType: string,
  details: Readonly<Record<string, string | number>>,
): Promise<void> {
  const who = { sessionId, orgId, agentId, ...(role !== undefined && { role }) };
  await audit?.log({ eventType, ...who, details: { ...details, request_id: requestId } });
}
