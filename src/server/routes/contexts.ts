import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { workValue } from "../../core/manager/index.js";
import { SandboxError } from "../../kit/errors.js";
import {
  type Checkpoint,
  type CodeContext,
  DEFAULT_LANGUAGE,
  type RunningSandbox,
} from "../../runtime/sandbox/index.js";
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

  /** Does something with the sandbox of a session, past none of the steps of a call. */
  const withSandbox = async <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    summary: string,
    work: (sandbox: RunningSandbox) => Promise<T>,
  ): Promise<T> =>
    inSession(services, request, reply, async ({ session, caller, signal }) => {
      // A sandbox that would have to start for this has no contexts.
      if (!manager.isRunning(session.id)) throw noContext();
      const call = { ...caller, signal, tool: "code_run", summary, paths: [], work };
      return workValue(await manager.useSandbox(call));
    });
  const withContext = async <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    what: string,
    work: (found: CodeContext) => Promise<T>,
  ): Promise<T> => {
    const { id } = request.params as { readonly id: string };
    return withSandbox(request, reply, `${what} ${id}`, (sandbox) => work(sandbox.context(id)));
  };

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
        const { id, language } = request.body;
        const call = { ...caller, signal, tool: "code_run", language, paths: [] };
        const summary = `make a context for ${language}`;
        const work = (sandbox: RunningSandbox) => sandbox.createContext({ language, id });
        const made = workValue(await manager.useSandbox({ ...call, summary, work }));
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
      inSession(services, request, reply, async ({ session }) => {
        if (!manager.isRunning(session.id)) return { items: [] };
        return { items: (await manager.startSandbox(session.id)).listContexts().map(toReply) };
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
      const { language } = await withFound(manager, session.id, id);
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
      withContext(request, reply, "interrupt the context", async (found) => ({
        interrupted: found.interrupt(),
      })),
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
      withContext(request, reply, "restart the context", async (found) => {
        await found.restart();
        return toReply(found);
      }),
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
      const saved = await withContext(request, reply, "save the context", (found) =>
        found.checkpoint({ files }),
      );
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
      withContext(request, reply, "roll back the context", async (found) => {
        await found.rollback(request.body.checkpoint);
        return toReply(found);
      }),
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
      const forked = await withContext(request, reply, "fork the context", (found) => found.fork());
      return reply.code(201).send(toReply(forked));
    },
  );

  app.delete(
    "/v1/sessions/:sessionId/contexts/:id",
    { schema: { summary: "End a context.", params: contextParams, response: replies(ok) } },
    async (request, reply) =>
      withContext(request, reply, "end the context", async (found) => {
        await found.close();
        return { ok: true } as const;
      }),
  );
}

async function withFound(manager: Services["manager"], session: string, id: string): Promise<CodeContext> {
  if (!manager.isRunning(session)) throw noContext();
  return (await manager.startSandbox(session)).context(id);
}

function toReply(found: CodeContext): z.output<typeof context> {
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

function noContext(): SandboxError {
  return new SandboxError("CONTEXT_NOT_FOUND", "This session has no such context", {
    hint: "It may have gone with a sandbox that was stopped. Create it again.",
  });
}
