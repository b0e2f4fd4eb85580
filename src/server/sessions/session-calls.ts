import type { FastifyReply, FastifyRequest } from "fastify";
import { disconnectSignal } from "../http/disconnect-signal.js";
import type { Services } from "../services.js";
import { type CallerIdentity, callerIdentity } from "./caller-identity.js";
import type { UsedSession } from "./session-service.js";

/** Runs an action in the session that a request names. The session's end waits for it, and aborts its signal. */
export async function inSession<T>(
  services: Services,
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
