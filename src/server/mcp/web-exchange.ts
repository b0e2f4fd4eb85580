import type { FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, SandboxError } from "../../kit/errors.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";

/** Of a client's headers those that the protocol knows. Its key goes no further. */
const HEADERS = ["accept", "mcp-session-id", "mcp-protocol-version", "last-event-id"] as const;
/** A client that has not read so much is cut off; it may come back for it. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const MAX_MESSAGE_CHARACTERS = 300;

const CODES: Readonly<Record<number, ErrorCode>> = {
  400: "INVALID_ARGUMENT",
  404: "NOT_FOUND",
  406: "INVALID_ARGUMENT",
  409: "CONFLICT",
  415: "MEDIA_TYPE_UNSUPPORTED",
};

/** A request as the SDK's transport takes it. Its body was read and goes beside it. */
export function toWebRequest(request: FastifyRequest): Request {
  const headers = new Headers({ "x-request-id": request.id, "content-type": "application/json" });
  for (const name of HEADERS) {
    const value = request.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  // The transport requires an address, and does not use it.
  return new Request("http://server.invalid/mcp", { method: request.method, headers });
}

/** Throws what the transport refused, in our words' shape. */
export async function checkAnswer(response: Response): Promise<void> {
  if (response.ok) return;
  const body = (await response.json().catch(() => undefined)) as
    | { error?: { message?: unknown } }
    | undefined;
  const message = String(body?.error?.message ?? "refused").slice(0, MAX_MESSAGE_CHARACTERS);
  throw new SandboxError(CODES[response.status] ?? "INTERNAL", `The protocol: ${escapeUnsafe(message)}`, {
    hint: "See modelcontextprotocol.io, streamable HTTP.",
  });
}

/**
 * Sends what the transport answers, to the end of it or of the connection. The transport does not wait for a client that
 * reads slowly, so that is done here: with an end to how much waits.
 */
export async function sendAnswer(
  reply: FastifyReply,
  response: Response,
  maxUnreadBytes = MAX_UNREAD_BYTES,
): Promise<void> {
  const { raw } = reply;
  reply.hijack();
  // `close` handles a disconnect; a write that comes after it must not end the process.
  raw.on("error", () => undefined);
  const { connection: _, ...headers } = Object.fromEntries(response.headers);
  raw.writeHead(response.status, { ...headers, ...(reply.getHeaders() as Record<string, string>) });
  raw.flushHeaders();
  const reader = response.body?.getReader();
  const leave = () => void reader?.cancel().catch(() => undefined);
  // Who hung up before there was an answer is not told of again.
  if (raw.destroyed) leave();
  else raw.once("close", leave);
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done || raw.destroyed) break;
    // One message of any size may be on its way; not others behind it.
    if (raw.writableLength > maxUnreadBytes) raw.destroy();
    else raw.write(value);
  }
  raw.end();
}
