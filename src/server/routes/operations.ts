import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import type { App } from "../http/index.js";
import { poolStatus, replies, toPoolReply } from "../http/index.js";
import type { Services } from "../services.js";
import { measure } from "./measure.js";

/** For operators: numbers over all orgs. */
export function addOperationRoutes(app: App, services: Services): void {
  app.get(
    "/metrics",
    { schema: { summary: "Prometheus' text format.", "x-answers": "text/plain" } },
    async (_, reply) => {
      const { metrics, serverMetrics, info } = services;
      if (metrics === undefined || serverMetrics === undefined) {
        throw new SandboxError("NOT_FOUND", "This server has no metrics", {
          hint: "Give createServer metrics.",
        });
      }
      info.lastScrapeAt = new Date();
      return reply
        .type(metrics.contentType)
        .send(await serverMetrics.text(await measure(services), info.sockets()));
    },
  );

  app.get(
    "/v1/pool",
    {
      schema: {
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
      running: services.tasks.size - services.sessions.prewarmer.starting,
      pool: toPoolReply(services.pool?.status()),
    }),
  );
}
