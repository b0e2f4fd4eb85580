import type { FastifyReply } from "fastify";
import { SandboxError } from "../../kit/errors.js";

/** How long a client has to read the last message of its stream. */
const GOODBYE_MS = 1000;

/** Aborts when the client disconnects before its reply is complete. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const look = () => {
    if (!reply.raw.writableFinished) controller.abort(disconnected());
  };
  const { socket } = reply.request.raw;
  // A connection that is closed already emits no further `close`.
  if (reply.raw.destroyed || socket.destroyed) look();
  else {
    reply.raw.once("close", look);
    // A reply that is queued behind another one on the same connection is not told when the connection closes.
    socket.once("close", look);
    reply.raw.once("close", () => socket.off("close", look));
  }
  return controller.signal;
}

/** Aborts when the client has disconnected, or has not read the last message a second after `ended` aborts. */
export function streamLostSignal(gone: AbortSignal, ended: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(disconnected());
  gone.addEventListener("abort", abort, { once: true });
  ended.addEventListener("abort", () => setTimeout(abort, GOODBYE_MS).unref(), { once: true });
  if (gone.aborted) abort();
  return controller.signal;
}

function disconnected(): SandboxError {
  return new SandboxError("CANCELLED", "The client disconnected");
}
