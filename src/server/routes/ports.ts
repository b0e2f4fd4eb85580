import type { Duplex } from "node:stream";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import type { App } from "../http/index.js";
import {
  ANYTHING,
  logError,
  ManagedSocket,
  onKeyRevoked,
  sessionParams,
  upgradeRequired,
  WEB_SOCKET,
} from "../http/index.js";
import { proxyRequest } from "../ports/index.js";
import type { Services } from "../services.js";
import { callerIdentity, inSession } from "../sessions/index.js";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
const port = z.coerce.number().int().min(1).max(65_535);
const portParams = sessionParams.extend({ port });
const KEY_HOLDS_MS = 1000;

/** Ports inside, reached through this server: by HTTP, or by the bytes of one connection. */
export function addPortRoutes(app: App, services: Services): void {
  const { sessions, ports } = services;
  /** Connections to what a tunnel will lead to. */
  const found = new WeakMap<FastifyRequest, { readonly connection: Duplex; readonly over: AbortSignal }>();
  const isCarried = new WeakSet<FastifyRequest>();
  // Whatever it is, it is passed on as it comes.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_, payload, done) => done(null, payload));

  app.route({
    method: [...METHODS],
    url: "/v1/sessions/:sessionId/ports/:port/*",
    schema: {
      summary: "Pass a request on to what listens on a port inside.",
      description:
        "Any method, body and answer. Inside gets no `Authorization`, no cookies; from there comes nothing that could act on " +
        "this server's origin. Takes `sandbox.network.allowLocalBinding`.",
      params: portParams.extend({ "*": z.string() }),
      "x-answers": ANYTHING,
    },
    handler: async (request, reply) =>
      inSession(services, request, reply, async ({ session, caller, signal }) => {
        const params = request.params as z.output<typeof portParams>;
        const target = { port: params.port, path: pathInside(request) };
        const wanted = { session, caller, key: request.key.id, port: params.port };
        const connection = await ports.connect(wanted, signal);
        using _ = onKeyRevoked(request, () => connection.destroy());
        try {
          await proxyRequest(request, reply, connection, target);
        } catch (error) {
          // The client disconnected: not an error.
          if (!reply.sent) throw signal.aborted ? signal.reason : error;
          if (!signal.aborted) logError(request, error);
          reply.raw.destroy();
        }
        return reply;
      }),
  });

  app.route({
    method: "GET",
    url: "/v1/sessions/:sessionId/tunnels/:port",
    config: { socket: true },
    schema: {
      summary: "A WebSocket: the bytes of one TCP connection to a port inside, as binary messages.",
      "x-answers": WEB_SOCKET,
      params: portParams,
    },
    // Before the upgrade, so that what is wrong has a status.
    preHandler: async (request) => {
      const params = request.params as z.output<typeof portParams>;
      const session = await sessions.find(request.key.org, params.sessionId);
      const caller = callerIdentity(services, request, session);
      const wanted = { session, caller, key: request.key.id, port: params.port };
      if (!request.ws) {
        // Who asks without an upgrade wants to know why one was refused.
        (await ports.connect(wanted, new AbortController().signal)).destroy();
        return;
      }
      const gone = new AbortController();
      const used = sessions.use(session, gone.signal);
      const { socket } = request.raw;
      const leave = () => {
        // The caller left, or its upgrade was none, before there was a tunnel.
        if (!isCarried.has(request)) gone.abort();
        used.end();
      };
      // A socket that is closed already emits no further `close`.
      if (socket.destroyed) leave();
      else socket.once("close", leave);
      found.set(request, { connection: await ports.connect(wanted, used.signal), over: used.signal });
    },
    handler: async () => {
      throw upgradeRequired();
    },
    wsHandler: (socket, request) => {
      isCarried.add(request);
      const kept = new ManagedSocket(socket, request, { keyHoldsMs: KEY_HOLDS_MS });
      kept.onClose(ports.addTunnel(() => kept.cutOff(1001, "the server stops")));
      const { connection, over } = found.get(request)!;
      // The session's end waits for its tunnels, and a caller may not answer a close.
      const end = () => kept.cutOff(1001, "the session has ended");
      over.addEventListener("abort", end, { once: true });
      kept.onClose(() => over.removeEventListener("abort", end));
      if (over.aborted) end();
      carryTunnel(kept, connection);
    },
  });
}

/** The rest of the address as it came: it is the inside's to read. */
function pathInside({ raw }: FastifyRequest): string {
  const path = /^\/v1\/sessions\/[^/?]+\/ports\/[^/?]+(\/.*)$/s.exec(raw.url ?? "")?.[1];
  if (path !== undefined) return path;
  throw new SandboxError("INVALID_ARGUMENT", "The address cannot be passed on");
}

/** What one side has sent and the other not yet taken. */
const MOST_BUFFERED_BYTES = 256 * 1024;
/** How long the last bytes of a caller who has left may take to get inside. */
const LAST_BYTES_MS = 5000;

/** Carries the bytes of a connection in binary messages, both ways, as fast as the slower side takes them. */
function carryTunnel(socket: ManagedSocket, connection: Duplex): void {
  socket.onMessage((data, isBinary) => {
    if (!isBinary) {
      throw new SandboxError("INVALID_ARGUMENT", "A tunnel takes binary messages, not text", {
        hint: "Send binary messages.",
      });
    }
    // Called also when the bytes were dropped.
    return new Promise((taken) => connection.write(data, () => taken()));
  });
  connection.on("data", (bytes: Buffer) => {
    socket.send(bytes, () => {
      if (socket.bufferedBytes < MOST_BUFFERED_BYTES) connection.resume();
    });
    if (socket.bufferedBytes >= MOST_BUFFERED_BYTES) connection.pause();
  });
  connection.once("end", () => socket.close(1000, "the other side has ended"));
  connection.once("close", () => socket.close(1000, "the connection has ended"));
  socket.onClose(async () => {
    await socket.messages;
    setTimeout(() => connection.destroy(), LAST_BYTES_MS).unref();
    connection.end(() => connection.destroy());
  });
}
