import { once } from "node:events";
import type { FastifyReply } from "fastify";

/** What callers ask for by `Accept`. */
export const EVENTS = "text/event-stream";
/** Between two comments on an idle stream, so that no proxy closes the connection. */
const HEARTBEAT_MS = 15_000;

/** Server-sent events to one caller. A caller that reads slowly makes `send` wait. */
export class EventStream {
  readonly #reply: FastifyReply;
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #id = 0;

  /** Takes the response over; `signal` aborts when the caller is gone. */
  constructor(reply: FastifyReply, signal: AbortSignal, heartbeatMs = HEARTBEAT_MS) {
    this.#reply = reply;
    this.#signal = signal;
    reply.hijack();
    // The signal handles a disconnect; a write that comes after it must not end the process.
    reply.raw.on("error", () => undefined);
    reply.raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      "content-type": `${EVENTS}; charset=utf-8`,
      // Proxies that collect what they pass on would keep events back.
      "x-accel-buffering": "no",
    });
    reply.raw.flushHeaders();
    this.#timer = setInterval(() => {
      if (!reply.raw.destroyed && !reply.raw.writableNeedDrain) reply.raw.write(": still here\n\n");
    }, heartbeatMs);
  }

  /** Resolves when there is room for more. Rejects when the caller is gone. Left out, the ids are 1, 2, 3. */
  async send(event: string, data: unknown, id: string | number = ++this.#id): Promise<void> {
    this.#signal.throwIfAborted();
    this.#assertLease();
    const text = `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    if (this.#reply.raw.write(text)) return;
    await once(this.#reply.raw, "drain", { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
  }

  end(): void {
    clearInterval(this.#timer);
    this.#reply.raw.end();
  }

  /** Destroys the stream, so that its client does not take it for complete. */
  #assertLease(): void {
    try {
      this.#reply.server.assertLease();
    } catch (error) {
      this.#reply.raw.destroy();
      throw error;
    }
  }
}

/** True when a caller would rather have events than one answer. */
export function wantsEvents(accept: string | undefined): boolean {
  return accept !== undefined && /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(accept);
}
