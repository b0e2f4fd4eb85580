import { connect, isIP, type Socket } from "node:net";
import { SandboxError, systemCode } from "../../../kit/errors.js";

export interface DialOptions {
  /** For all attempts together. */
  readonly connectMs: number;
  readonly signal?: AbortSignal;
}

/** After this long the next address is tried besides. */
const HEAD_START_MS = 250;

/**
 * Connects to the first address that answers, the next one starting when one fails or is slow. Takes addresses only: a
 * name would be resolved again, past the check. The socket is the caller's; it has no listeners of ours.
 */
export function dial(addresses: readonly string[], port: number, options: DialOptions): Promise<Socket> {
  const { connectMs, signal } = options;
  if (addresses.length === 0 || addresses.some((address) => isIP(address) === 0)) {
    return Promise.reject(new SandboxError("INTERNAL", "only addresses are dialled"));
  }
  return new Promise((resolve, reject) => {
    const attempts = new Set<Socket>();
    const waiting = [...addresses];
    let headStart: NodeJS.Timeout | undefined;
    const deadline = setTimeout(() => end(new DialError("ETIMEDOUT", addresses, port)), connectMs);
    const abort = () => end(signal?.reason);
    if (signal?.aborted === true) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    next();

    function next(): void {
      clearTimeout(headStart);
      const address = waiting.shift();
      if (address === undefined) return;
      const socket = connect({ host: address, port, noDelay: true, allowHalfOpen: true });
      attempts.add(socket);
      socket.once("connect", () => end(undefined, socket));
      socket.once("error", (error) => {
        if (!attempts.delete(socket)) return;
        if (waiting.length > 0) next();
        else if (attempts.size === 0) end(new DialError(systemCode(error) ?? "EIO", addresses, port, error));
      });
      if (waiting.length > 0) headStart = setTimeout(next, HEAD_START_MS);
    }

    function end(error: unknown, winner?: Socket): void {
      clearTimeout(deadline);
      clearTimeout(headStart);
      signal?.removeEventListener("abort", abort);
      waiting.length = 0;
      for (const socket of attempts) if (socket !== winner) drop(socket);
      attempts.clear();
      if (winner === undefined) return reject(error);
      winner.removeAllListeners("connect");
      winner.removeAllListeners("error");
      resolve(winner);
    }
  });
}

/** No address answered. */
export class DialError extends Error {
  /** The system's: ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT. */
  readonly code: string;

  constructor(code: string, addresses: readonly string[], port: number, cause?: unknown) {
    super(`${addresses[0]} port ${port}: ${REASONS[code] ?? code}`, { cause });
    this.name = "DialError";
    this.code = code;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
  ETIMEDOUT: "it did not answer in time",
};

/** A socket that lost the race may still fail: its error must not be unhandled. */
function drop(socket: Socket): void {
  socket.removeAllListeners();
  socket.on("error", () => {});
  socket.destroy();
}
