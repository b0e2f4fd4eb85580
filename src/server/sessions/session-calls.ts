import type { FastifyReply, FastifyRequest } from "fastify";
import { SandboxError } from "../../kit/errors.js";
import { roleFor } from "../http/authenticate.js";
import type { ServerCore } from "../services.js";
import type { SessionRecord } from "../store/index.js";
import type { SessionSettings, UsedSession } from "./session-service.js";

export { workValue } from "../../core/manager/index.js";

/** How long somebody who has to be told that it is over may take to read it. */
const GOODBYE_MS = 1000;

/** In whose name a call is made, as the manager takes it. */
export interface Caller {
  readonly sessionId: string;
  readonly orgId: string;
  readonly agentId: string;
  readonly requestId: string;
  readonly role?: string;
  readonly backend?: string;
}

/** The caller of a request in a session. FORBIDDEN: the key has no such role. */
export function callerOf(
  { config }: ServerCore,
  request: FastifyRequest,
  session: SessionRecord,
  asked: { readonly role?: string | undefined; readonly agentId?: string | undefined } = {},
): Caller {
  const { key } = request;
  const role = roleFor(key, asked.role ?? session.role, config.sandbox.policy.role);
  const { backend } = session.settings as SessionSettings;
  return {
    sessionId: session.id,
    orgId: session.org,
    agentId: asked.agentId ?? `key:${key.id}`,
    requestId: request.id,
    ...(role !== undefined && { role }),
    ...(backend !== undefined && { backend }),
  };
}

/** Aborts when whoever asked has hung up before the answer was out. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const look = () => {
    if (!reply.raw.writableFinished) controller.abort(new SandboxError("CANCELLED", "The caller is gone"));
  };
  const { socket } = reply.request.raw;
  // Who hung up before anybody asked is not told of again.
  if (reply.raw.destroyed || socket.destroyed) look();
  else {
    reply.raw.once("close", look);
    // An answer that waits behind another one on the same connection does not hear of its end.
    socket.once("close", look);
    reply.raw.once("close", () => socket.off("close", look));
  }
  return controller.signal;
}

/** Aborts when the caller is gone, or does not even read that it is over: the session's end waits for that. */
export function lostSignal(gone: AbortSignal, over: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(new SandboxError("CANCELLED", "The caller is gone"));
  gone.addEventListener("abort", abort, { once: true });
  over.addEventListener("abort", () => setTimeout(abort, GOODBYE_MS).unref(), { once: true });
  if (gone.aborted) abort();
  return controller.signal;
}

/** Does something with the session of a request that is there; until it is done the session does not go away. */
export async function inSession<T>(
  core: ServerCore,
  request: FastifyRequest,
  reply: FastifyReply,
  action: (used: UsedSession & { readonly caller: Caller }) => Promise<T>,
): Promise<T> {
  const { name } = request.params as { readonly name: string };
  const session = await core.sessions.find(request.key.org, name);
  const caller = callerOf(core, request, session);
  const used = core.sessions.use(session, goneSignal(reply));
  try {
    return await action({ ...used, caller });
  } finally {
    used.end();
  }
}
