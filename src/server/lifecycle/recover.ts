import type { AuditLogger } from "../../guard/audit/index.js";
import { interruptedApproval } from "../cluster/dead-servers.js";
import type { Store } from "../store/index.js";

/** What a run that was killed left, as it is written down before there is new work. */
export interface Recovered {
  readonly executions: number;
  readonly approvals: number;
}

/**
 * Ends what no longer runs: executions are `interrupted`, and whoever was asked is not asked any more. The audit log has
 * the executions by itself.
 */
export async function recover(
  store: Store,
  server: string,
  audit: AuditLogger | undefined,
): Promise<Recovered> {
  // Written down first: killed between the two, the next start says it again, rather than nobody ever.
  const left = await store.approvals.listUndecidedOf(server);
  await Promise.all(left.map((approval) => audit?.log(interruptedApproval(approval))));
  const [executions, approvals] = await Promise.all([
    store.executions.interruptAllOf(server),
    store.approvals.rejectAllOf(server),
  ]);
  return { executions: executions.length, approvals: approvals.length };
}
