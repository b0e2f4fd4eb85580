import type { App } from "../http/app.js";
import { sessionParams } from "../http/schemas.js";
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

/** Every file of routes, with its tag in the reference. A new one is one more entry here, and its rows in http/access.ts. */
const ROUTE_FILES: readonly (readonly [tag: string, add: (app: App, services: Services) => void])[] = [
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
  ["mcp", addMcpRoutes],
  ["operations", addOperationRoutes],
  ["operations", addStatusRoutes],
];

/** Adds all routes. Those of a session have its name among their parameters. */
export async function addRoutes(app: App, services: Services): Promise<void> {
  for (const [tag, add] of ROUTE_FILES)
    await app.register(async (scope) => {
      scope.addHook("onRoute", (route) => {
        const params = route.url.startsWith("/v1/sessions/:sessionId") && { params: sessionParams };
        route.schema = { tags: [tag], ...params, ...route.schema };
      });
      add(scope.withTypeProvider(), services);
    });
}
