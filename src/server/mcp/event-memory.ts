import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/** Something that a client was told, and may ask for again. */
export interface KeptEvent {
  readonly stream: string;
  readonly number: number;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
  readonly isProgress: boolean;
  readonly at: number;
  /** False: no client may still miss it. */
  drop(isMissed?: boolean): void;
}

const MAX_BYTES = 64 * 1024 * 1024;

/** The events that are kept for all clients together. When they are too many, the oldest go first, of any client. */
export class EventMemory {
  readonly #events = new Set<KeptEvent>();
  #bytes = 0;

  constructor(private readonly maxBytes: number = MAX_BYTES) {}

  add(event: KeptEvent): void {
    this.#events.add(event);
    this.#bytes += event.bytes;
    for (const oldest of this.#events) {
      if (this.#bytes <= this.maxBytes) break;
      oldest.drop();
    }
  }

  remove(event: KeptEvent): void {
    if (this.#events.delete(event)) this.#bytes -= event.bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }
}
