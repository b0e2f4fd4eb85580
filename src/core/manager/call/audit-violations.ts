import type { AuditLogger } from "../../../guard/audit/index.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { CheckedCall } from "./checked-call.js";

/** A program that tries everything everywhere must not fill the log. */
const MOST_RECORDS = 20;

/** Writes a record for each different thing that the walls refused during a call, as the backend saw it. */
export async function auditViolations(
  sandbox: RunningSandbox,
  call: CheckedCall,
  audit: AuditLogger,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { what } of await sandbox.violations()) counts.set(what, (counts.get(what) ?? 0) + 1);
  const { agentId, orgId, role, tool } = call;
  const names = { sandboxId: sandbox.id, sessionId: sandbox.sessionId, backend: sandbox.type };
  const told = [...counts].slice(0, MOST_RECORDS);
  const leftOut = counts.size - told.length;
  for (const [index, [what, times]] of told.entries()) {
    const isLast = index === told.length - 1;
    const details = { what, times, ...(isLast && leftOut > 0 && { left_out: leftOut }) };
    try {
      await audit.log({ eventType: "sandbox_violation", ...names, agentId, orgId, role, tool, details });
    } catch (error) {
      process.emitWarning(`A violation could not be audited: ${String(error)}`);
      return;
    }
  }
}
