import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { FileWatch, WatchEvent } from "../../core/manager/index.js";
import { toSandboxError } from "../../kit/errors.js";
import type { App } from "../http/index.js";
import {
  disconnectSignal,
  EVENTS,
  EventStream,
  errorBody,
  logError,
  onKeyRevoked,
  sessionParams,
  streamLostSignal,
  toErrorBody,
  toPublicError,
} from "../http/index.js";
import type { Services } from "../services.js";
import { callerIdentity } from "../sessions/index.js";

/** What changes in a session's files, as it happens. */
export function addWatchRoutes(app: App, services: Services): void {
  app.get(
    "/v1/sessions/:sessionId/watch",
    {
      schema: {
        summary: "Tell what changes in a directory, as events.",
        description:
          "Server-sent events: `watching` first; `created`, `modified` and `deleted` with `path` and `type`; `overflow`: too much " +
          "changed at once, list the directory again; `error` or `ended` last.",
        params: sessionParams,
        querystring: z.strictObject({
          path: z.string().min(1).max(4096).default(".").describe("Relative to the workspace."),
          recursive: z.enum(["true", "false"]).default("true"),
        }),
        response: { "4xx": errorBody, "5xx": errorBody },
        "x-answers": EVENTS,
      },
    },
    async (request, reply) => {
      const { key, params, query } = request;
      const session = await services.sessions.find(key.org, params.sessionId);
      const caller = callerIdentity(services, request, session);
      const gone = disconnectSignal(reply);
      const used = services.sessions.use(session, gone, { isSubscription: true });
      try {
        const { path } = query;
        const call = { ...caller, path, recursive: query.recursive === "true", signal: used.signal };
        using watch = await services.manager.watchFiles(call);
        let revoked: string | undefined;
        using _ = onKeyRevoked(request, () => {
          revoked = "The key was revoked";
          watch.close();
        });
        const lost = streamLostSignal(gone, used.signal);
        const stream = new EventStream(reply, lost);
        try {
          const ended = await tell(stream, watch);
          // A client that is still connected is told why the stream ends.
          const why = revoked ?? ended ?? toSandboxError(used.signal.reason).message;
          await stream.send("ended", { why });
        } catch (error) {
          if (!lost.aborted) await tellError(stream, request, error);
        } finally {
          stream.end();
          if (lost.aborted) reply.raw.destroy();
        }
        return reply;
      } finally {
        used.end();
      }
    },
  );
}

/** A slow reader gets fewer, larger batches. Resolves when the watch is over, to the reason if there is one. */
async function tell(stream: EventStream, watch: FileWatch): Promise<string | undefined> {
  for await (const event of watch) {
    if (event.type === "ended") return event.why;
    await stream.send(event.type, dataOf(event));
  }
  return undefined;
}

async function tellError(stream: EventStream, request: FastifyRequest, error: unknown): Promise<void> {
  const told = toPublicError(error);
  if (told.httpStatus >= 500) logError(request, error);
  // The client may have disconnected meanwhile.
  await stream.send("error", toErrorBody(told, request.id)).catch(() => undefined);
}

function dataOf(event: WatchEvent): object {
  switch (event.type) {
    case "watching":
      return { path: event.path, recursive: event.recursive };
    case "created":
    case "modified":
    case "deleted":
      return { path: event.path, type: event.entryType };
    default:
      return {};
  }
}
