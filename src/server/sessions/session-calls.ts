import type { FastifyReply, FastifyRequest } from "fastify";
import type { Config } from "../../core/config/index.js";
import { disconnectSignal } from "../http/index.js";
import { type CallerIdentity, callerIdentity } from "./caller-identity.js";
import type { SessionService, UsedSession } from "./session-service.js";

/** Runs an action in the session that a request names. The session's end waits for it, and aborts its signal. */
export async function inSession<T>(
  services: { readonly config: Config; readonly sessions: SessionService },
  request: FastifyRequest,
  reply: FastifyReply,
  action: (used: UsedSession & { readonly caller: CallerIdentity }) => Promise<T>,
): Promise<T> {
  const { sessionId } = request.params as { readonly sessionId: string };
  const session = await services.sessions.find(request.key.org, sessionId);
  const caller = callerIdentity(services, request, session);
  const used = services.sessions.use(session, disconnectSignal(reply));
  try {
    return await action({ ...used, caller });
  } finally {
    used.end();
  }
}
