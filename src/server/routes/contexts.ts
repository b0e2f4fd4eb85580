import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { type ContextInfo, HandleContext, HandleContexts } from "../../core/manager/index.js";
import { type Checkpoint, DEFAULT_LANGUAGE } from "../../runtime/sandbox/index.js";
import { contextExecuteBody, plainJson, runExecution } from "../executions/index.js";
import type { App } from "../http/index.js";
import { context, EVENTS, executionResult, replies, sessionParams } from "../http/index.js";
import type { Services } from "../services.js";
import { inSession } from "../sessions/index.js";

const contextId = z
  .string()
  .regex(/^[\w.:-]{1,100}$/, "expected 1 to 100 letters, digits, dots, colons or dashes");
const contextParams = sessionParams.extend({ id: contextId });
const checkpoint = z.object({ id: z.string(), createdAt: z.string(), snapshotId: z.string().optional() });
const ok = z.object({ ok: z.literal(true) });

/** Code that keeps its state. Contexts go with the session's sandbox. */
export function addContextRoutes(app: App, services: Services): void {
  const { manager } = services;

  const withContext = async <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (found: HandleContext) => Promise<T>,
  ): Promise<T> =>
    inSession(services, request, reply, async ({ session, caller, signal }) => {
      const { id } = request.params as { readonly id: string };
      // A sandbox that would have to start for this has no contexts.
      manager.findContext(session.id, id);
      return work(new HandleContext(manager, { ...caller, signal }, id));
    });

  app.post(
    "/v1/sessions/:sessionId/contexts",
    {
      schema: {
        summary: "Make a context: code that keeps its state between runs.",
        body: z
          .strictObject({
            id: contextId.optional(),
            language: z.string().min(1).max(50).default(DEFAULT_LANGUAGE),
          })
          .prefault({}),
        response: replies(context, 201),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ caller, signal }) => {
        const made = await new HandleContexts(manager, { ...caller, signal }).createInfo(request.body);
        return reply.code(201).send(toReply(made));
      }),
  );

  app.get(
    "/v1/sessions/:sessionId/contexts",
    {
      schema: {
        summary: "List the session's contexts.",
        response: replies(z.object({ items: z.array(context) })),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ session, caller, signal }) => {
        if (!manager.isRunning(session.id)) return { items: [] };
        return { items: (await new HandleContexts(manager, { ...caller, signal }).list()).map(toReply) };
      }),
  );

  app.post(
    "/v1/sessions/:sessionId/contexts/:id/execute",
    {
      serializerCompiler: plainJson,
      schema: {
        summary: "Run code in a context.",
        params: contextParams,
        body: contextExecuteBody,
        response: replies(executionResult),
        "x-answers": EVENTS,
      },
    },
    async (request, reply) => {
      const { id, sessionId } = request.params;
      const session = await services.sessions.find(request.key.org, sessionId);
      const { language } = manager.findContext(session.id, id);
      const body = { language, ...request.body, context: id };
      return (await runExecution(services, request, reply, session, body)) ?? reply;
    },
  );

  app.post(
    "/v1/sessions/:sessionId/contexts/:id/interrupt",
    {
      schema: {
        summary: "Interrupt the code that runs now.",
        params: contextParams,
        response: replies(z.object({ interrupted: z.boolean().describe("False: nothing ran.") })),
      },
    },
    async (request, reply) =>
      withContext(request, reply, async (found) => ({ interrupted: await found.interrupt() })),
  );

  app.post(
    "/v1/sessions/:sessionId/contexts/:id/restart",
    {
      schema: {
        summary: "Restart a context; its state is lost.",
        params: contextParams,
        response: replies(context),
      },
    },
    async (request, reply) =>
      withContext(request, reply, async (found) => toReply(await found.restartInfo())),
  );

  app.post(
    "/v1/sessions/:sessionId/contexts/:id/checkpoint",
    {
      schema: {
        summary: "Save a context's live state.",
        params: contextParams,
        body: z
          .strictObject({ files: z.boolean().default(false).describe("Also the workspace's files.") })
          .prefault({}),
        response: replies(checkpoint, 201),
      },
    },
    async (request, reply) => {
      const { files } = request.body;
      const saved = await withContext(request, reply, (found) => found.checkpoint({ files }));
      return reply.code(201).send(toCheckpoint(saved));
    },
  );

  app.post(
    "/v1/sessions/:sessionId/contexts/:id/rollback",
    {
      schema: {
        summary: "Go back to a saved state.",
        params: contextParams,
        body: z.strictObject({ checkpoint: z.string().min(1).max(200) }),
        response: replies(context),
      },
    },
    async (request, reply) =>
      withContext(request, reply, async (found) =>
        toReply(await found.rollbackInfo(request.body.checkpoint)),
      ),
  );

  app.post(
    "/v1/sessions/:sessionId/contexts/:id/fork",
    {
      schema: {
        summary: "Make another context with the same state.",
        params: contextParams,
        response: replies(context, 201),
      },
    },
    async (request, reply) => {
      const forked = await withContext(request, reply, (found) => found.forkInfo());
      return reply.code(201).send(toReply(forked));
    },
  );

  app.delete(
    "/v1/sessions/:sessionId/contexts/:id",
    { schema: { summary: "End a context.", params: contextParams, response: replies(ok) } },
    async (request, reply) =>
      withContext(request, reply, async (found) => {
        await found.delete();
        return { ok: true } as const;
      }),
  );
}

function toReply(found: ContextInfo): z.output<typeof context> {
  const { id, language, state, ending, createdAt, executionCount, checkpoints } = found;
  return {
    id,
    language,
    state,
    createdAt: createdAt.toISOString(),
    executionCount,
    checkpoints: checkpoints.map(toCheckpoint),
    ...(ending !== undefined && { ending }),
  };
}

function toCheckpoint({ id, createdAt, snapshotId }: Checkpoint) {
  return { id, createdAt: createdAt.toISOString(), ...(snapshotId !== undefined && { snapshotId }) };
}
