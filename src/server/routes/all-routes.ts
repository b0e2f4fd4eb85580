import type { App } from "../http/app.js";
import type { Services } from "../services.js";
import { addApprovalRoutes } from "./approvals.js";
import { addAuditRoutes } from "./audit.js";
import { addContextRoutes } from "./contexts.js";
import { addEgressRoutes } from "./egress.js";
import { addExecuteRoutes } from "./execute.js";
import { addFileRoutes } from "./files.js";
import { addHealthRoutes } from "./health.js";
import { addMcpRoutes } from "./mcp.js";
import { addOperationRoutes } from "./operations.js";
import { addPortRoutes } from "./ports.js";
import { addProcessRoutes } from "./processes.js";
import { addSessionRoutes } from "./sessions.js";
import { addSnapshotRoutes } from "./snapshots.js";
import { addStatusRoutes } from "./status.js";
import { addTerminalRoutes } from "./terminals.js";
import { addWatchRoutes } from "./watch.js";

/** Every file of routes. A new one is one more entry here, and its rows in http/access.ts. */
export const ROUTE_FILES: readonly ((app: App, services: Services) => void | Promise<void>)[] = [
  addHealthRoutes,
  addSessionRoutes,
  addExecuteRoutes,
  addProcessRoutes,
  addTerminalRoutes,
  addContextRoutes,
  addFileRoutes,
  addWatchRoutes,
  addSnapshotRoutes,
  addEgressRoutes,
  addPortRoutes,
  addApprovalRoutes,
  addAuditRoutes,
  addMcpRoutes,
  addOperationRoutes,
  addStatusRoutes,
];
