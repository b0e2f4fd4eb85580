import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import type { ExecutionSummary } from "../executions/index.js";
import { executeBody, plainJson, runExecution } from "../executions/index.js";
import type { App } from "../http/index.js";
import {
  EVENTS,
  execution,
  executionResult,
  pageOf,
  pageQuery,
  replies,
  roleFor,
  sessionFilter,
  sessionParams,
  toMoment,
} from "../http/index.js";
import type { Services } from "../services.js";
import { sessionsOf, uidOf } from "../sessions/index.js";
import type { ExecutionRecord } from "../store/index.js";

/** Programs and commands, and which there were. */
export function addExecuteRoutes(app: App, services: Services): void {
  const { sessions, store, executions, config } = services;

  app.post(
    "/v1/sessions/:sessionId/execute",
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
        name: params.sessionId,
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
          sessionId: sessionFilter,
          state: z.enum(["running", "done", "interrupted"]).optional(),
        }),
        response: replies(pageOf(execution)),
      },
    },
    async ({ key, query: { sessionId, ...query } }) => {
      const session = await uidOf(store, key.org, sessionId);
      await executions.settle();
      const { items, next } = await store.executions.list(key.org, { ...query, session });
      const ids = await sessionsOf(store, key.org, items);
      return { items: items.map((item) => ({ ...ids(item), ...toReply(item) })), next };
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
      if (found !== undefined)
        return { ...(await sessionsOf(store, key.org, [found]))(found), ...toReply(found) };
      throw new SandboxError("NOT_FOUND", "There is no such execution", {
        hint: "GET /v1/executions lists them.",
      });
    },
  );
}

function toReply(record: ExecutionRecord): z.output<typeof execution> {
  const { id, tool, state, startedAt, endedAt, result } = record;
  return {
    id,
    tool,
    state,
    startedAt: toMoment(startedAt),
    result: result as ExecutionSummary | null,
    ...(endedAt !== undefined && { endedAt: toMoment(endedAt) }),
  };
}
