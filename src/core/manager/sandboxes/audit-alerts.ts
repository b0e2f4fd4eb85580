import type { AuditLogger } from "../../../guard/audit/index.js";
import type { ResourceAlert, SandboxMonitor } from "../../metrics/index.js";

/** Writes a record for every alert of one of our sandboxes; the function returned ends that. */
export function auditAlerts(
  monitor: SandboxMonitor,
  audit: AuditLogger,
  sessionOf: (sandboxId: string) => string | undefined,
): () => void {
  const write = ({ sandboxId, resource, percent, threshold }: ResourceAlert) => {
    const sessionId = sessionOf(sandboxId);
    if (sessionId === undefined) return;
    const details = { resource, percent, threshold };
    audit.log({ eventType: "resource_alert", sandboxId, sessionId, details }).catch((error: unknown) => {
      process.emitWarning(`An alert could not be audited: ${String(error)}`);
    });
  };
  monitor.on("alert", write);
  return () => monitor.off("alert", write);
}
