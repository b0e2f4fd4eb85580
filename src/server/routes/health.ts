import { z } from "zod";
import type { App } from "../http/index.js";
import { RETRY_AFTER_SECONDS, RetryLater, replies } from "../http/index.js";
import type { Services } from "../services.js";

/** For orchestrators and load balancers. */
export function addHealthRoutes(app: App, { store, lease, isStopping }: Services): void {
  const status = z.object({ status: z.literal("ok") });

  app.get(
    "/healthz",
    { schema: { summary: "The process answers.", security: [], response: replies(status) } },
    async () => ({ status: "ok" }) as const,
  );

  app.get(
    "/readyz",
    { schema: { summary: "It takes work.", security: [], response: replies(status) } },
    async () => {
      lease.assertHeld();
      if (isStopping())
        throw new RetryLater(
          "SERVER_STOPPING",
          "This server is stopping",
          RETRY_AFTER_SECONDS,
          "Ask another server.",
        );
      await store.ping();
      return { status: "ok" } as const;
    },
  );
}
