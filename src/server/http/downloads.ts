import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { logError } from "./error-reply.js";

/** Sends a stream as an attachment: no browser renders what a program wrote. Rejects when it was not sent completely. */
export async function sendStream(
  reply: FastifyReply,
  stream: Readable,
  about: { readonly type: string; readonly name: string; readonly signal: AbortSignal },
): Promise<void> {
  reply.server.assertLease();
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": about.type,
    "content-disposition": `attachment; filename*=UTF-8''${encoded(about.name)}`,
  });
  // Without a content-length (chunked), so that a client notices a truncated one.
  await pipeline(stream, reply.raw, { signal: about.signal });
}

/** Cuts the reply off when sending it fails after its beginning: half of it must not look complete. */
export async function orCutOff(
  request: FastifyRequest,
  reply: FastifyReply,
  signal: AbortSignal,
  send: () => Promise<void>,
): Promise<FastifyReply> {
  try {
    await send();
  } catch (error) {
    if (!reply.sent) throw error;
    if (!signal.aborted) logError(request, error);
    reply.raw.destroy();
  }
  return reply;
}

/** As RFC 8187 has it: these four are left alone by the function, and mean something there. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16)}`);
}
