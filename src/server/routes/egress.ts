import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import type { App } from "../http/index.js";
import { replies } from "../http/index.js";
import type { Services } from "../services.js";
import { inSession } from "../sessions/index.js";

const hosts = z.array(z.string().min(1).max(300)).max(1000);

/** What a session that runs may reach besides, or no longer. */
export function addEgressRoutes(app: App, services: Services): void {
  app.post(
    "/v1/sessions/:sessionId/egress",
    {
      schema: {
        summary: "Let a session that runs reach more hosts, or fewer.",
        description: "What is open and no longer allowed is closed. It holds until the server stops.",
        body: z.strictObject({ allow: hosts.optional(), deny: hosts.optional() }),
        response: replies(z.object({ changed: z.literal(true) })),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ session, caller }) => {
        const { allow, deny } = request.body;
        const change = { ...(allow !== undefined && { allow }), ...(deny !== undefined && { deny }) };
        const running = await services.manager.changeEgress(session.id, change);
        if (running > 0) {
          const { sessionId, orgId, agentId, requestId } = caller;
          await services.audit?.log({
            eventType: "egress_changed",
            sessionId,
            orgId,
            agentId,
            details: {
              request_id: requestId,
              allow: (allow ?? []).join(" "),
              deny: (deny ?? []).join(" "),
            },
          });
          return { changed: true } as const;
        }
        throw new SandboxError("SANDBOX_NOT_RUNNING", "Nothing runs in this session", {
          hint: "Run something first: rules are those of a running sandbox.",
        });
      }),
  );
}
