import type { Protocol } from "../services.js";
import { API_ACCESS } from "./access.js";
import { addApprovalRoutes } from "./approvals.js";
import { addAuditRoutes } from "./audit.js";
import { addContextRoutes } from "./contexts.js";
import { addEgressRoutes } from "./egress.js";
import { addExecuteRoutes } from "./execute.js";
import { addFileRoutes } from "./files.js";
import { addHealthRoutes } from "./health.js";
import { addOperationRoutes } from "./operations.js";
import { addPortRoutes } from "./ports.js";
import { addProcessRoutes } from "./processes.js";
import { addSessionRoutes } from "./sessions.js";
import { addSnapshotRoutes } from "./snapshots.js";
import { addStatusRoutes } from "./status.js";
import { addTerminalRoutes } from "./terminals.js";
import { addWatchRoutes } from "./watch.js";

/** Our own API. A new file of routes is one more entry here, and its rows in access.ts. */
export const API: Protocol = {
  access: API_ACCESS,
  routes: [
    ["health", addHealthRoutes],
    ["sessions", addSessionRoutes],
    ["executions", addExecuteRoutes],
    ["processes", addProcessRoutes],
    ["terminals", addTerminalRoutes],
    ["contexts", addContextRoutes],
    ["files", addFileRoutes],
    ["files", addWatchRoutes],
    ["snapshots", addSnapshotRoutes],
    ["network", addEgressRoutes],
    ["ports", addPortRoutes],
    ["approvals", addApprovalRoutes],
    ["audit", addAuditRoutes],
    ["operations", addOperationRoutes],
    ["operations", addStatusRoutes],
  ],
};
