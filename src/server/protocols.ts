import type { AccessRows, App } from "./http/index.js";
import { sessionParams } from "./http/index.js";
import { MCP } from "./mcp/index.js";
import { API } from "./routes/index.js";
import type { Protocol, Services } from "./services.js";

/** Every protocol. A new one is a folder of this floor, and one entry here. */
const PROTOCOLS: readonly Protocol[] = [API, MCP];

/** The rows of all protocols. Throws where two protocols have the same route: one would decide about the other's. */
export function accessRows(protocols: readonly Protocol[] = PROTOCOLS): AccessRows {
  const rows = protocols.flatMap(({ access }) => Object.entries(access));
  const twice = rows.find(([route], index) => rows.findIndex(([other]) => other === route) !== index);
  if (twice !== undefined) throw new Error(`Two protocols have the route ${twice[0]}`);
  return Object.fromEntries(rows);
}

/** Adds all routes. Those of a session have its name among their parameters. */
export async function addRoutes(app: App, services: Services): Promise<void> {
  for (const [tag, add] of PROTOCOLS.flatMap(({ routes }) => routes))
    await app.register(async (scope) => {
      scope.addHook("onRoute", (route) => {
        const params = route.url.startsWith("/v1/sessions/:sessionId") && { params: sessionParams };
        route.schema = { tags: [tag], ...params, ...route.schema };
      });
      add(scope.withTypeProvider(), services);
    });
}
