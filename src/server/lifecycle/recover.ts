import type { AuditLogger } from "../../guard/audit/index.js";
import { interruptedApproval } from "../cluster/index.js";
import type { Store } from "../store/index.js";

/** How much a killed run left. */
export interface Recovered {
  readonly executions: number;
  readonly approvals: number;
}

/**
 * Marks what a killed run left as ended: executions and approvals become `interrupted`. The audit log has
 * the executions by itself.
 */
export async function recover(
  store: Store,
  server: string,
  audit: AuditLogger | undefined,
): Promise<Recovered> {
  // Recorded first: if the server is killed in between, the next start records it again, instead of never.
  const left = await store.approvals.listUndecidedOf(server);
  await Promise.all(left.map((approval) => audit?.log(interruptedApproval(approval))));
  const [executions, approvals] = await Promise.all([
    store.executions.interruptAllOf(server),
    store.approvals.rejectAllOf(server),
  ]);
  return { executions: executions.length, approvals: approvals.length };
}
