import type { FastifyRequest } from "fastify";
import { logError } from "./error-reply.js";

/** Between two checks of the key of an endless stream. */
const KEY_CHECK_MS = 5000;

/** Calls back when the key of a request is revoked or has expired, until it is disposed of. */
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
      // The next check asks again.
      .catch((error: unknown) => logError(request, error));
  }, KEY_CHECK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
