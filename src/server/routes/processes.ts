import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import { SENDABLE_SIGNALS } from "../../runtime/sandbox/index.js";
import { recordEvent } from "../audit/index.js";
import { callOf, executeBody, toExecutionReply } from "../executions/index.js";
import type { App } from "../http/index.js";
import {
  assertRole,
  disconnectSignal,
  EVENTS,
  EventStream,
  logError,
  onKeyRevoked,
  processLogs,
  replies,
  roleFor,
  serverProcess,
  sessionParams,
  wantsEvents,
} from "../http/index.js";
import { liveCallBodyLimit, ServerProcess, shownCommand, toLiveReply } from "../live/index.js";
import type { Services } from "../services.js";
import { callerIdentity, inSession } from "../sessions/index.js";

const processBody = executeBody.omit({ context: true }).meta({ id: "ProcessRequest" });
const processParams = sessionParams.extend({ id: z.string().min(1).max(100) });
const MAX_WAIT_MS = 30_000;
const MAX_PAGE_BYTES = 1024 * 1024;
const position = z.string().regex(/^\d{1,15}$/, "expected `next` of a page, or the id of an event");

/** Programs and commands that go on without a request. */
export function addProcessRoutes(app: App, services: Services): void {
  const { sessions, manager, config, live } = services;
  const { processes } = live;

  /** Does something with a process of a session; `mayAct`: in the role that it has. */
  const withProcess = <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    { mayAct }: { readonly mayAct: boolean },
    action: (process: ServerProcess) => T | Promise<T>,
  ): Promise<T> =>
    inSession(services, request, reply, async ({ session }) => {
      const process = processes.get(session.id, (request.params as { readonly id: string }).id);
      if (mayAct) assertRole(request.key, process.owner.role);
      return action(process);
    });

  app.post(
    "/v1/sessions/:sessionId/processes",
    {
      bodyLimit: liveCallBodyLimit(config),
      schema: {
        summary:
          "Start a program or a command that runs in the background. The session is made if there is none.",
        description:
          "Answers when it has started. A client that disconnects does not end it, not even while it waits for approval.",
        params: sessionParams,
        body: processBody,
        response: replies(serverProcess, 201),
      },
    },
    async (request, reply) => {
      const { key, params, body } = request;
      const gone = disconnectSignal(reply);
      const role = roleFor(key, body.role, config.sandbox.policy.role);
      const session = await sessions.obtain(key.org, { name: params.sessionId, role, settings: {} });
      const caller = callerIdentity(services, request, session, body);
      const call = { ...callOf(body, services.config), ...caller };
      const owner = { session, role: caller.role };
      const process = new ServerProcess(owner, shownCommand(body), live.outputsOf(key.org));
      try {
        await processes.start(process, body.code === undefined ? "shell_exec" : "run_code", (signal) =>
          manager.startProcess({ ...call, signal }),
        );
      } catch (error) {
        // A client that is told of the failure need not find it in the list.
        if (!gone.aborted) processes.forget(process);
        throw error;
      }
      // Its id must be in the list of executions before the client has it, also after a kill.
      await services.executions.settle();
      return reply.code(201).send(toReply(process));
    },
  );

  app.get(
    "/v1/sessions/:sessionId/processes",
    {
      schema: {
        summary: "List the session's processes, the oldest first.",
        response: replies(z.object({ items: z.array(serverProcess) })),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ session }) => ({
        items: processes.list(session.id).map(toListed),
      })),
  );

  app.get(
    "/v1/sessions/:sessionId/processes/:id",
    { schema: { summary: "One process.", params: processParams, response: replies(serverProcess) } },
    async (request, reply) => withProcess(request, reply, { mayAct: false }, toReply),
  );

  app.get(
    "/v1/sessions/:sessionId/processes/:id/logs",
    {
      schema: {
        summary: "What a process has printed, from a cursor on.",
        description:
          "With `Accept: text/event-stream` it goes on until the process ends: stdout, stderr, dropped, exit. The id of an event " +
          "is the cursor after it, and `Last-Event-ID` goes on there.",
        params: processParams,
        querystring: z.strictObject({
          cursor: position.optional().describe("`next` of the page before; left out: from the beginning."),
          limit: z.coerce
            .number()
            .int()
            .min(1024)
            .max(MAX_PAGE_BYTES)
            .default(64 * 1024)
            .describe("Bytes."),
          waitMs: z.coerce
            .number()
            .int()
            .min(0)
            .max(MAX_WAIT_MS)
            .default(0)
            .describe("How long to wait where there is nothing yet."),
        }),
        response: replies(processLogs),
        "x-answers": EVENTS,
      },
    },
    async (request, reply) => {
      const found = await withProcess(request, reply, { mayAct: true }, (process) => process);
      const { limit, waitMs } = request.query;
      const cursor = cursorOf(request, request.query.cursor);
      const gone = disconnectSignal(reply);
      // Says now what is wrong with the cursor.
      found.log.read(cursor, 0);
      if (wantsEvents(request.headers.accept)) {
        await sendLog(found, cursor, request, reply, gone);
        return reply;
      }
      if (waitMs > 0) await found.log.waitBeyond(cursor, gone, waitMs);
      const { pieces, next, dropped, ended } = found.log.read(cursor, limit);
      const items = pieces.map(({ stream, text }) => ({ stream, text }));
      return { items, next: String(next), dropped, ended };
    },
  );

  app.post(
    "/v1/sessions/:sessionId/processes/:id/signal",
    {
      schema: {
        summary: "Send a signal to a process and everything in its group.",
        params: processParams,
        body: z.strictObject({ signal: z.enum(SENDABLE_SIGNALS) }),
        response: replies(serverProcess),
      },
    },
    async (request, reply) =>
      withProcess(request, reply, { mayAct: true }, async (process) => {
        const { session, role } = process.owner;
        const { signal } = request.body;
        const caller = callerIdentity(services, request, session, { role });
        await recordEvent(services.audit, caller, "process_signalled", { execution: process.id, signal });
        process.sendSignal(signal);
        return toReply(process);
      }),
  );

  app.delete(
    "/v1/sessions/:sessionId/processes/:id",
    {
      schema: {
        summary: "Kill a process, and forget it and what it printed.",
        params: processParams,
        response: replies(z.object({ deleted: z.literal(true) })),
      },
    },
    async (request, reply) => {
      const found = await withProcess(request, reply, { mayAct: true }, (process) => process);
      await processes.remove(found);
      return { deleted: true } as const;
    },
  );
}

/** `Last-Event-ID` is what a browser sends when it comes back, to the address that it came from. */
function cursorOf({ headers }: FastifyRequest, cursor = "0"): number {
  const last = headers["last-event-id"];
  if (last === undefined || !wantsEvents(headers.accept)) return Number(cursor);
  const parsed = position.safeParse(last);
  if (parsed.success) return Number(parsed.data);
  throw new SandboxError("INVALID_ARGUMENT", "Last-Event-ID is not from this log", {
    hint: "Leave it out, or take the id of the last event that came.",
  });
}

/** Until it has ended, the caller is gone, or its key was revoked. */
async function sendLog(
  process: ServerProcess,
  cursor: number,
  request: FastifyRequest,
  reply: FastifyReply,
  gone: AbortSignal,
): Promise<void> {
  const revoked = new AbortController();
  using _ = onKeyRevoked(request, () => revoked.abort());
  const over = AbortSignal.any([gone, revoked.signal]);
  const stream = new EventStream(reply, over);
  try {
    await followLog(process, cursor, stream, over);
    // As with a lost connection: a client that comes back needs a valid key.
    if (!revoked.signal.aborted) await stream.send("exit", toReply(process), process.log.bytes);
  } catch (error) {
    if (!over.aborted) logError(request, error);
  } finally {
    stream.end();
  }
}

function toReply(process: ServerProcess): z.output<typeof serverProcess> {
  const { id, owner, outcome } = process;
  if (outcome?.result === undefined) return toListed(process);
  const about = { executionId: id, sessionId: owner.session.name };
  return { ...toListed(process), result: toExecutionReply(outcome.result, about) };
}

function toListed(process: ServerProcess): z.output<typeof serverProcess> {
  return { ...toLiveReply(process), command: process.command, outputBytes: process.log.bytes };
}

/** What is read of a log at once. */
const PAGE_BYTES = 64 * 1024;

/**
 * Sends what a process prints, from a position on, until it has ended. The id of each event is the position after it, from
 * which a client that reconnects continues. A client that reads too slowly is told how many bytes it missed.
 */
async function followLog(
  { log }: ServerProcess,
  position: number,
  stream: EventStream,
  signal: AbortSignal,
): Promise<void> {
  for (let at = position; ; ) {
    const { pieces, next, dropped, ended } = log.read(at, PAGE_BYTES);
    if (dropped > 0) await stream.send("dropped", { bytes: dropped }, at + dropped);
    for (const { stream: output, text, end } of pieces) await stream.send(output, { text }, end);
    if (ended) return;
    at = next;
    await log.waitBeyond(at, signal);
    signal.throwIfAborted();
  }
}
