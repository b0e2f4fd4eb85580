import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import { executeBody } from "../executions/execution-request.js";
import { plainJson, runExecution } from "../executions/run-execution.js";
import type { App } from "../http/app.js";
import { roleFor } from "../http/authenticate.js";
import { EVENTS } from "../http/event-stream.js";
import {
  execution,
  executionResult,
  pageOf,
  pageQuery,
  replies,
  sessionParams,
  toMoment,
} from "../http/schemas.js";
import type { Services } from "../services.js";
import type { ExecutionRecord } from "../store/index.js";

/** Programs and commands, and which there were. */
export function addExecuteRoutes(app: App, services: Services): void {
  const { sessions, store, executions, config } = services;

  app.post(
    "/v1/sessions/:name/execute",
    {
      serializerCompiler: plainJson,
      schema: {
        summary: "Run a program or a command. The session is made if there is none.",
        description:
          "With `Accept: text/event-stream` the answer is events: execution, started, stdout, stderr, result, exit, " +
          "error. A caller that reads slowly slows the program down; one that hangs up ends it.",
        params: sessionParams,
        body: executeBody,
        response: replies(executionResult),
        "x-answers": EVENTS,
      },
    },
    async (request, reply) => {
      const { key, params, body } = request;
      const session = await sessions.obtain(key.org, {
        name: params.name,
        role: roleFor(key, body.role, config.sandbox.policy.role),
        settings: {},
      });
      return (await runExecution(services, request, reply, session, body)) ?? reply;
    },
  );

  app.get(
    "/v1/executions",
    {
      schema: {
        summary: "List the org's executions, the latest first.",
        querystring: pageQuery.extend({
          session: z
            .string()
            .max(400)
            .optional()
            .describe("The session's name while it is active, or its id."),
          state: z.enum(["running", "done", "interrupted"]).optional(),
        }),
        response: replies(pageOf(execution)),
      },
    },
    async ({ key, query: { session, ...query } }) => {
      const meant =
        session === undefined ? undefined : ((await store.sessions.get(key.org, session))?.id ?? session);
      await executions.settle();
      const { items, next } = await store.executions.list(key.org, { ...query, session: meant });
      return { items: items.map(toReply), next };
    },
  );

  app.get(
    "/v1/executions/:id",
    {
      schema: {
        summary: "One execution.",
        params: z.object({ id: z.string().max(200) }),
        response: replies(execution),
      },
    },
    async ({ key, params }) => {
      await executions.settle();
      const found = await store.executions.get(key.org, params.id);
      if (found !== undefined) return toReply(found);
      throw new SandboxError("NOT_FOUND", "There is no such execution", {
        hint: "GET /v1/executions lists them.",
      });
    },
  );
}

function toReply(record: ExecutionRecord): z.output<typeof execution> {
  const { id, session, tool, state, startedAt, endedAt, result } = record;
  return {
    id,
    tool,
    state,
    startedAt: toMoment(startedAt),
    result: result as Record<string, unknown> | null,
    ...(session !== undefined && { session }),
    ...(endedAt !== undefined && { endedAt: toMoment(endedAt) }),
  };
}
