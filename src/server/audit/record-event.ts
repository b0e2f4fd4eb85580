import type { AuditLogger } from "../../guard/audit/index.js";
import type { CallerIdentity } from "../sessions/caller-identity.js";

/** Writes down what somebody did past the manager. Throws AUDIT_FAILED: what cannot be remembered is not done. */
export async function recordEvent(
  audit: AuditLogger | undefined,
  { sessionId, orgId, agentId, role, requestId }: CallerIdentity,
  eventType: string,
  details: Readonly<Record<string, string | number>>,
): Promise<void> {
  const who = { sessionId, orgId, agentId, ...(role !== undefined && { role }) };
  await audit?.log({ eventType, ...who, details: { ...details, request_id: requestId } });
}
