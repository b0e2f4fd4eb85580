import type { FastifyRequest } from "fastify";
import { logError } from "./error-reply.js";

/** So often a stream that has no end asks whether its key still may. */
const KEY_CHECK_MS = 5000;

/** Told of when the key of a request is revoked or over, until it is disposed of. */
export function onKeyRevoked(
  request: Pick<FastifyRequest, "keyHolds" | "log">,
  onRevoked: () => void,
): Disposable {
  const timer = setInterval(() => {
    request
      .keyHolds()
      .then((holds) => {
        if (!holds) onRevoked();
      })
      // It is asked again.
      .catch((error: unknown) => logError(request, error));
  }, KEY_CHECK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
