import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { headersInside, headersOutside } from "./proxy-headers.js";

/** Of an answer from inside, all headers together. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Passes a request on to what listens at the other end of a connection, and its answer back. Nothing is held in memory. */
export async function proxyRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  connection: Duplex,
  { port, path }: { readonly port: number; readonly path: string },
): Promise<void> {
  const { raw } = request;
  const inside = httpRequest({
    method: request.method,
    path,
    headers: headersInside(raw.headers, port, request.method),
    setHost: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
    // It is read and written like one.
    createConnection: () => connection as Socket,
  });
  try {
    const answer = await answerOf(inside, raw);
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 599) throw noAnswer(`its status is ${status}`);
    const headers = {
      ...reply.getHeaders(),
      ...headersOutside(answer.headers),
      // The rest of the client's request is dropped, and the connection cannot be reused.
      ...(!raw.complete && { connection: "close" }),
    };
    reply.server.assertLease();
    reply.hijack();
    reply.raw.on("error", () => undefined);
    reply.raw.writeHead(status, headers as Record<string, string>);
    // An answer may take its time, and the caller wants to know that there is one.
    reply.raw.flushHeaders();
    await pipeline(answer, reply.raw);
  } finally {
    raw.unpipe(inside);
    raw.resume();
    connection.destroy();
  }
}

/** Sends it, and resolves to the head of the answer. PORT_FAILED: there is none that can be read. */
function answerOf(inside: ClientRequest, body: IncomingMessage): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    inside.once("response", resolve);
    inside.once("upgrade", (_, socket) => {
      socket.destroy();
      reject(noAnswer("it is no answer to this request"));
    });
    // Also later, when the answer was there already.
    inside.on("error", (error) => reject(noAnswer(reasonOf(error), error)));
    inside.once("close", () => reject(noAnswer("it hung up")));
    body.pipe(inside);
  });
}

function reasonOf(error: Error): string {
  const code = systemCode(error) ?? "";
  if (code === "HPE_HEADER_OVERFLOW") return `its headers are more than ${MAX_HEADER_BYTES} bytes`;
  return code.startsWith("HPE_") ? "it is no HTTP" : "it hung up";
}

function noAnswer(why: string, cause?: unknown): SandboxError {
  return new SandboxError("PORT_FAILED", `The server on that port sent no valid reply: ${why}`, {
    hint: "Is it an HTTP server? The tunnel carries anything else.",
    ...(cause !== undefined && { cause }),
  });
}
