import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import { poolStatus, replies, toPoolReply } from "../http/schemas.js";
import type { ServerCore } from "../services.js";
import type { App } from "./route-file.js";

/** For whoever runs the server: over all orgs, in numbers only. */
export function addOperationRoutes(app: App, core: ServerCore): void {
  app.get(
    "/metrics",
    { schema: { tags: ["operations"], summary: "Prometheus' text format.", "x-answers": "text/plain" } },
    async (_, reply) => {
      const { metrics, serverMetrics, life } = core;
      if (metrics === undefined || serverMetrics === undefined) {
        throw new SandboxError("NOT_FOUND", "This server counts nothing", {
          hint: "Give createServer metrics.",
        });
      }
      life.lastScrapeAt = new Date();
      return reply.type(metrics.contentType).send(await serverMetrics.text(core));
    },
  );

  app.get(
    "/v1/pool",
    {
      schema: {
        tags: ["operations"],
        summary: "The sandboxes that are kept ready, and what runs.",
        response: replies(
          z.object({
            running: z.number().describe("Requests that run something now."),
            pool: poolStatus.nullable(),
          }),
        ),
      },
    },
    async () => ({
      running: core.work.size - core.sessions.ahead.starting,
      pool: toPoolReply(core.pool?.status()),
    }),
  );
}
