import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import { recordEvent } from "../audit/index.js";
import type { App } from "../http/index.js";
import {
  agentId,
  assertRole,
  disconnectSignal,
  jsonOf,
  ManagedSocket,
  replies,
  roleName,
  serverTerminal,
  sessionParams,
  upgradeRequired,
  WEB_SOCKET,
} from "../http/index.js";
import { liveCallBodyLimit, ServerTerminal, shownCommand, toLiveReply } from "../live/index.js";
import type { Services } from "../services.js";
import { callerIdentity, inSession } from "../sessions/index.js";

const lines = z.number().int().min(1).max(65_535);
const terminalBody = z
  .strictObject({
    rows: lines,
    columns: lines,
    argv: z.array(z.string()).min(1).max(10_000).optional().describe("Left out: a shell."),
    env: z.record(z.string().min(1).max(1000), z.string()).optional(),
    cwd: z.string().min(1).max(4096).optional(),
    role: roleName.optional(),
    agentId: agentId.optional(),
  })
  .meta({ id: "TerminalRequest" });
const terminalParams = sessionParams.extend({ id: z.string().min(1).max(100) });
const message = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("input"), data: z.string() }),
  z.strictObject({ type: z.literal("resize"), rows: lines, columns: lines }),
]);

/** Terminals that outlive their connections. */
export function addTerminalRoutes(app: App, services: Services): void {
  const { sessions, manager, config, live } = services;
  const { terminals } = live;
  /** What a connection may come to, until it has. */
  const found = new WeakMap<FastifyRequest, ServerTerminal>();

  const withTerminal = <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    action: (terminal: ServerTerminal) => T,
  ): Promise<T> =>
    inSession(services, request, reply, async ({ session }) =>
      action(terminals.get(session.id, (request.params as { readonly id: string }).id)),
    );

  app.post(
    "/v1/sessions/:sessionId/terminals",
    {
      bodyLimit: liveCallBodyLimit(config),
      schema: {
        summary: "Open a terminal. Connect to it with a WebSocket, as often as you like.",
        params: sessionParams,
        body: terminalBody,
        response: replies(serverTerminal, 201),
      },
    },
    async (request, reply) => {
      const { key, params, body } = request;
      const gone = disconnectSignal(reply);
      const session = await sessions.find(key.org, params.sessionId);
      const caller = callerIdentity(services, request, session, body);
      const { rows, columns, argv, env, cwd } = body;
      const owner = { session, role: caller.role };
      const { detachedMs } = config.server.terminals;
      const command = argv && shownCommand({ argv });
      const terminal = new ServerTerminal(owner, command, body, detachedMs, live.outputsOf(key.org));
      try {
        await terminals.start(terminal, "shell_exec", (signal) =>
          manager.openTerminal({ ...caller, rows, columns, argv, env, cwd, signal }),
        );
      } catch (error) {
        // A client that is told of the failure need not find it in the list.
        if (!gone.aborted) terminals.forget(terminal);
        throw error;
      }
      // Its id must be in the list of executions before the client has it, also after a kill.
      await services.executions.settle();
      return reply.code(201).send(toReply(terminal));
    },
  );

  app.get(
    "/v1/sessions/:sessionId/terminals",
    {
      schema: {
        summary: "List the session's terminals, the oldest first.",
        response: replies(z.object({ items: z.array(serverTerminal) })),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ session }) => ({
        items: terminals.list(session.id).map(toReply),
      })),
  );

  app.get(
    "/v1/sessions/:sessionId/terminals/:id",
    { schema: { summary: "One terminal.", params: terminalParams, response: replies(serverTerminal) } },
    async (request, reply) => withTerminal(request, reply, toReply),
  );

  app.delete(
    "/v1/sessions/:sessionId/terminals/:id",
    {
      schema: {
        summary: "End a terminal, and forget it.",
        params: terminalParams,
        response: replies(z.object({ deleted: z.literal(true) })),
      },
    },
    async (request, reply) => {
      const terminal = await withTerminal(request, reply, (each) => each);
      assertRole(request.key, terminal.owner.role);
      await terminals.remove(terminal);
      return { deleted: true } as const;
    },
  );

  app.route({
    method: "GET",
    url: "/v1/sessions/:sessionId/terminals/:id/stream",
    config: { socket: true },
    schema: {
      summary: "A WebSocket: what is on the terminal, and what is typed into it.",
      "x-answers": WEB_SOCKET,
      description:
        'Sends {"type":"open","cursor":…,"dropped":…}, then the screen\'s bytes from the cursor on as binary messages, and at ' +
        'the end {"type":"exit","result":{…}}; takes binary messages and {"type":"input","data":…} as what is typed, and ' +
        '{"type":"resize","rows":…,"columns":…}. What cannot be understood is answered with {"type":"error",…}. Without an ' +
        "Authorization header, offer the subprotocols `skerry` and `skerry.key.` followed by the key.",
      params: terminalParams,
      querystring: z.strictObject({
        cursor: z.coerce
          .number()
          .int()
          .min(0)
          .max(Number.MAX_SAFE_INTEGER)
          .default(0)
          .describe("How many bytes were seen already; left out: everything that is kept."),
      }),
    },
    // Before the upgrade, so that what is wrong has a status.
    preHandler: async (request, reply) => {
      const terminal = await withTerminal(request, reply, (each) => each);
      const { session, role } = terminal.owner;
      // Typing happens in the role that the terminal was opened in.
      assertRole(request.key, role);
      terminal.checkCursor((request.query as { readonly cursor: number }).cursor);
      const caller = callerIdentity(services, request, session, { role });
      if (request.ws)
        await terminal.meet(request.key.id, () =>
          recordEvent(services.audit, caller, "terminal_attached", { execution: terminal.id }),
        );
      found.set(request, terminal);
    },
    handler: async () => {
      throw upgradeRequired();
    },
    wsHandler: (socket, request) => {
      const kept = new ManagedSocket(socket, request);
      const terminal = found.get(request)!;
      kept.onMessage((data, isBinary) => take(terminal, data, isBinary));
      terminal.attach(kept, (request.query as { readonly cursor: number }).cursor);
    },
  });
}

async function take(terminal: ServerTerminal, data: Buffer, isBinary: boolean): Promise<void> {
  if (isBinary) return terminal.type(data);
  const parsed = message.safeParse(jsonOf(String(data)));
  if (!parsed.success) {
    throw new SandboxError("INVALID_ARGUMENT", "This message is not valid", {
      hint: 'Send bytes, {"type":"input","data":"…"} or {"type":"resize","rows":24,"columns":80}.',
    });
  }
  if (parsed.data.type === "input") return terminal.type(parsed.data.data);
  terminal.resize(parsed.data.rows, parsed.data.columns);
}

function toReply(terminal: ServerTerminal): z.output<typeof serverTerminal> {
  const { command, size } = terminal;
  return {
    ...toLiveReply(terminal),
    ...(command !== undefined && { command }),
    ...size,
    outputBytes: terminal.bytes,
    watchers: terminal.watchers,
  };
}
