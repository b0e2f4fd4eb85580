import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import { checkBackendName } from "../../runtime/backends/index.js";
import { recordEvent } from "../audit/index.js";
import type { App } from "../http/index.js";
import {
  pageOf,
  pageQuery,
  replies,
  roleFor,
  roleName,
  session,
  sessionId,
  sessionParams,
  toMoment,
  ttlMs,
} from "../http/index.js";
import type { Services } from "../services.js";
import { callerIdentity, settingsOf } from "../sessions/index.js";
import type { SessionRecord } from "../store/index.js";

const idempotencyKey = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, "expected printable ASCII without spaces")
  .describe("The same request with the same key makes one session, however often it comes.");
const newSession = z.strictObject({
  sessionId: sessionId.optional().describe("Left out: one of its own."),
  role: roleName.optional(),
  backend: z.string().min(1).max(100).optional().describe("What isolates; left out: the configuration's."),
  ttlMs: ttlMs.optional(),
  idempotencyKey: idempotencyKey.optional(),
});

/** Sessions: made, listed, prolonged, ended. */
export function addSessionRoutes(app: App, services: Services): void {
  const { sessions, store, config, audit } = services;

  app.post(
    "/v1/sessions",
    {
      schema: {
        summary: "Make a session. Its sandbox starts in the background.",
        body: newSession.prefault({}),
        response: { ...replies(session, 201), 200: session.describe("An earlier request made it.") },
      },
    },
    async (request, reply) => {
      const { sessionId: name, role, backend, ...wanted } = request.body;
      if (backend !== undefined) checkBackendName(backend);
      const created = await sessions.create(request.key.org, {
        ...wanted,
        name,
        idempotencyKey: idempotencyKeyOf(request, wanted.idempotencyKey),
        role: roleFor(request.key, role, config.sandbox.policy.role),
        settings: backend === undefined ? {} : { backend },
      });
      if (created.isNew) sessions.prewarmer.add(created.session);
      return reply.code(created.isNew ? 201 : 200).send(toSessionReply(created.session));
    },
  );

  app.get(
    "/v1/sessions",
    {
      schema: {
        summary: "List the org's sessions, the latest first.",
        querystring: pageQuery.extend({ state: z.enum(["active", "ended"]).default("active") }),
        response: replies(pageOf(session)),
      },
    },
    async ({ key, query }) => {
      const { items, next } = await store.sessions.list(key.org, query);
      return { items: items.map(toSessionReply), next };
    },
  );

  app.get(
    "/v1/sessions/:sessionId",
    { schema: { summary: "One session.", params: sessionParams, response: replies(session) } },
    async ({ key, params }) => toSessionReply(await sessions.find(key.org, params.sessionId)),
  );

  app.post(
    "/v1/sessions/:sessionId/renew",
    {
      schema: {
        summary: "Let a session live longer, from now.",
        params: sessionParams,
        body: z.strictObject({ ttlMs: ttlMs.optional() }).prefault({}),
        response: replies(session),
      },
    },
    async (request) => {
      const { key, params, body } = request;
      callerIdentity(services, request, await sessions.find(key.org, params.sessionId));
      return toSessionReply(await sessions.renew(key.org, params.sessionId, body.ttlMs));
    },
  );

  app.delete(
    "/v1/sessions/:sessionId",
    {
      schema: {
        summary: "End a session: what runs in it stops, and its files go.",
        params: sessionParams,
        response: replies(z.object({ deleted: z.literal(true) })),
      },
    },
    async (request) => {
      const { key, params } = request;
      const caller = callerIdentity(services, request, await sessions.find(key.org, params.sessionId));
      await recordEvent(audit, caller, "session_deleted", { session: params.sessionId });
      await sessions.end(key.org, params.sessionId);
      return { deleted: true } as const;
    },
  );
}

/** The header's or the body's; both only where they are the same. */
function idempotencyKeyOf(request: FastifyRequest, inBody: string | undefined): string | undefined {
  const header = request.headers["idempotency-key"];
  if (header === undefined) return inBody;
  const parsed = idempotencyKey.safeParse(header);
  if (parsed.success && (inBody === undefined || inBody === parsed.data)) return parsed.data;
  throw new SandboxError("INVALID_ARGUMENT", "The idempotency key is invalid, or header and body differ", {
    hint: "Send 1 to 200 printable characters, in the header Idempotency-Key or in the body.",
  });
}

/** A session as replies have it. */
export function toSessionReply(record: SessionRecord): z.output<typeof session> {
  const { id, name, role, state, createdAt, renewedAt, expiresAt, endedAt, endedWhy } = record;
  const { backend } = settingsOf(record);
  return {
    sessionId: name,
    sessionUid: id,
    state,
    createdAt: toMoment(createdAt),
    renewedAt: toMoment(renewedAt),
    ...(role !== undefined && { role }),
    ...(backend !== undefined && { backend }),
    ...(expiresAt !== undefined && { expiresAt: toMoment(expiresAt) }),
    ...(endedAt !== undefined && { endedAt: toMoment(endedAt) }),
    ...(endedWhy !== undefined && { endedWhy }),
  };
}
