import type { WebSocket } from "@fastify/websocket";
import type { FastifyRequest } from "fastify";
import { SandboxError } from "../../kit/errors.js";
import { logError, toErrorBody, toPublicError } from "./error-reply.js";

export interface ManagedSocketOptions {
  /** How often the other side is asked whether it is there, and its key whether it still holds. */
  readonly pingMs?: number;
  /** For so long after it was asked the key is taken to hold, when a message comes. Left out: it is asked for each. */
  readonly keyHoldsMs?: number;
}

/** Reasons to close that are part of the protocol. */
const REVOKED = 1008;
const PING_MS = 20_000;
const GOODBYE_MS = 1000;
/** One who reads nothing of what it is told for so long is cut off. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** A WebSocket that is seen to while it is open: one whose other side is gone, or whose key was revoked, is cut off. */
export class ManagedSocket {
  readonly #socket: WebSocket;
  readonly #request: FastifyRequest;
  readonly #keyHoldsMs: number;
  #isThere = true;
  /** What was sent stood in the way of the last ping. */
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

  /** What was sent and is still in this process. */
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

  /** False: another server may have decided about all this by now. */
  #isOurs(): boolean {
    try {
      this.#request.server.assertLease();
      return true;
    } catch {
      return false;
    }
  }

  /** Tells what went wrong, as an answer would. */
  fail(error: unknown): void {
    const told = toPublicError(error);
    if (told.httpStatus >= 500) logError(this.#request, error);
    this.tell({ type: "error", ...toErrorBody(told, this.#request.id) });
  }

  /**
   * Hands messages over one after the other, and reads no further while one is seen to. None of a key that was revoked gets that
   * far. What is thrown is told.
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

  /** Resolves when all messages that have come were seen to. */
  get messages(): Promise<void> {
    return this.#messages;
  }

  onClose(listener: () => void): void {
    this.#socket.once("close", listener);
  }

  /** Once everything that was sent is through. */
  close(code: number, why: string): void {
    this.#socket.close(code, why);
  }

  /** At once: what was sent may be lost. */
  cutOff(code: number, why: string): void {
    closeSocket(this.#socket, code, why);
  }

  /** Whoever reads slowly answers late: that it takes what comes before the ping is enough. */
  #wasTaken(): void {
    if (this.#wasBehind) this.#isThere = true;
  }

  #look(): void {
    // While we do not read, no answer can come; but whoever is there takes what was sent.
    const isStuck = this.#wasBehind && this.bufferedBytes > 0;
    if (!this.#isThere && (!this.#socket.isPaused || isStuck)) return this.#socket.terminate();
    this.#isThere = false;
    this.#wasBehind = this.bufferedBytes > 0;
    if (this.isOpen) this.#socket.ping();
    // A store that cannot be asked now is asked again.
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

/** Says goodbye, and does not wait long for an answer. */
export function closeSocket(socket: WebSocket, code: number, why: string): void {
  socket.close(code, why);
  setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
}

/** What a message says; undefined: it is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a plain request to a WebSocket's address is told. */
export function upgradeRequired(): SandboxError {
  return new SandboxError("UPGRADE_REQUIRED", "This address is a WebSocket's", {
    hint: "Connect with a WebSocket client.",
  });
}
