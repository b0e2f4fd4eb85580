import type { FastifyRequest } from "fastify";
import type { Config } from "../../core/config/index.js";
import { roleFor } from "../http/index.js";
import type { SessionRecord } from "../store/index.js";
import { settingsOf } from "./session-settings.js";

/** On whose behalf a call is made, as the manager takes it. */
export interface CallerIdentity {
  readonly sessionId: string;
  readonly orgId: string;
  readonly agentId: string;
  readonly requestId: string;
  readonly role?: string;
  readonly backend?: string;
}

/** The caller of a request in a session. FORBIDDEN: the key may not act in that role. */
export function callerIdentity(
  { config }: { readonly config: Config },
  request: FastifyRequest,
  session: SessionRecord,
  asked: { readonly role?: string | undefined; readonly agentId?: string | undefined } = {},
): CallerIdentity {
  const { key } = request;
  const role = roleFor(key, asked.role ?? session.role, config.sandbox.policy.role);
  const { backend } = settingsOf(session);
  return {
    sessionId: session.id,
    orgId: session.org,
    agentId: asked.agentId ?? `key:${key.id}`,
    requestId: request.id,
    ...(role !== undefined && { role }),
    ...(backend !== undefined && { backend }),
  };
}
