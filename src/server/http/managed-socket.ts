import type { WebSocket } from "@fastify/websocket";
import type { FastifyRequest } from "fastify";
import { SandboxError } from "../../kit/errors.js";
import { logError, toErrorBody, toPublicError } from "./error-reply.js";

export interface ManagedSocketOptions {
  /** Between two pings, which also check the key. */
  readonly pingMs?: number;
  /** How long one check of the key counts for further messages. Left out: every message checks it. */
  readonly keyHoldsMs?: number;
}

/** Reasons to close that are part of the protocol. */
const REVOKED = 1008;
const PING_MS = 20_000;
const GOODBYE_MS = 1000;
/** A client with more than 16 MiB unread is disconnected. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** A WebSocket with pings and key checks: it is closed when its client does not answer, or when its key is revoked. */
export class ManagedSocket {
  readonly #socket: WebSocket;
  readonly #request: FastifyRequest;
  readonly #keyHoldsMs: number;
  #isThere = true;
  /** The last ping was queued behind unread data. */
  #wasBehind = false;
  #isRevoked = false;
  #heldAt = performance.now();
  #messages: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(socket: WebSocket, request: FastifyRequest, options: ManagedSocketOptions = {}) {
    this.#socket = socket;
    this.#request = request;
    this.#keyHoldsMs = options.keyHoldsMs ?? 0;
    const timer = setInterval(() => this.#look(), options.pingMs ?? PING_MS);
    socket.on("pong", () => {
      this.#isThere = true;
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => clearInterval(timer));
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** What was sent and has not left this process. */
  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** Sends JSON. */
  tell(data: unknown): void {
    if (this.bufferedBytes > MAX_BUFFERED_BYTES || !this.#isOurs()) return this.#socket.terminate();
    if (this.isOpen) this.#socket.send(JSON.stringify(data), () => this.#wasTaken());
  }

  /** Sends bytes; the callback comes when they have left this process, or never will. */
  send(bytes: Uint8Array, sent: () => void): void {
    if (!this.#isOurs()) this.#socket.terminate();
    if (!this.isOpen) return sent();
    this.#socket.send(bytes, { binary: true }, (error) => {
      if (error === undefined || error === null) this.#wasTaken();
      sent();
    });
  }

  /** False: the lease is lost, so another server may have ended this session. */
  #isOurs(): boolean {
    try {
      this.#request.server.assertLease();
      return true;
    } catch {
      return false;
    }
  }

  /** Sends an error in the shape of an HTTP reply. */
  fail(error: unknown): void {
    const told = toPublicError(error);
    if (told.httpStatus >= 500) logError(this.#request, error);
    this.tell({ type: "error", ...toErrorBody(told, this.#request.id) });
  }

  /**
   * Handles messages one after the other, and does not read on while one is being handled. Messages of a revoked key are
   * dropped. What `take` throws is sent to the client.
   */
  onMessage(take: (data: Buffer, isBinary: boolean) => void | Promise<void>): void {
    this.#socket.on("message", (data: Buffer, isBinary) => {
      this.#isThere = true;
      this.#waiting++;
      this.#socket.pause();
      this.#messages = this.#messages.then(async () => {
        try {
          if (await this.#keyHolds()) await take(data, isBinary);
        } catch (error) {
          this.fail(error);
        } finally {
          if (--this.#waiting === 0) this.#socket.resume();
        }
      });
    });
  }

  /** Resolves when all messages that have arrived are handled. */
  get messages(): Promise<void> {
    return this.#messages;
  }

  onClose(listener: () => void): void {
    this.#socket.once("close", listener);
  }

  /** After everything that was sent has left. */
  close(code: number, why: string): void {
    this.#socket.close(code, why);
  }

  /** At once: what was sent may be lost. */
  cutOff(code: number, why: string): void {
    closeSocket(this.#socket, code, why);
  }

  /** A slow reader answers a ping late: that it reads what was sent before the ping is enough. */
  #wasTaken(): void {
    if (this.#wasBehind) this.#isThere = true;
  }

  #look(): void {
    // While we do not read, no pong can arrive; a client that is connected still reads what was sent.
    const isStuck = this.#wasBehind && this.bufferedBytes > 0;
    if (!this.#isThere && (!this.#socket.isPaused || isStuck)) return this.#socket.terminate();
    this.#isThere = false;
    this.#wasBehind = this.bufferedBytes > 0;
    if (this.isOpen) this.#socket.ping();
    // The next ping asks a store again that failed now.
    this.#keyHolds().catch((error: unknown) => logError(this.#request, error));
  }

  async #keyHolds(): Promise<boolean> {
    const now = performance.now();
    if (this.#isRevoked) return false;
    if (now - this.#heldAt < this.#keyHoldsMs) return true;
    if (await this.#request.keyHolds()) {
      this.#heldAt = now;
      return true;
    }
    this.#isRevoked = true;
    closeSocket(this.#socket, REVOKED, "the key was revoked");
    return false;
  }
}

/** Closes a socket, and terminates it when the client does not answer within a second. */
export function closeSocket(socket: WebSocket, code: number, why: string): void {
  socket.close(code, why);
  setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
}

/** Parses a message; undefined: it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The error for a plain request to a WebSocket route. */
export function upgradeRequired(): SandboxError {
  return new SandboxError("UPGRADE_REQUIRED", "This address takes WebSockets only", {
    hint: "Connect with a WebSocket client.",
  });
}
