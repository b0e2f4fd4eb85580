import type { EventStore } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { EventMemory, KeptEvent } from "./event-memory.js";

export interface EventLogOptions {
  readonly memory: EventMemory;
  /** Told of each answer; true: nothing else comes on its stream. */
  readonly onAnswer: (id: RequestId) => boolean;
  readonly maxBytes?: number | undefined;
  readonly maxEvents?: number | undefined;
  readonly now?: (() => number) | undefined;
}

/** What is left to be told on a stream after some event. */
export interface Rest {
  readonly events: readonly { readonly id: string; readonly message: JSONRPCMessage }[];
  /** Nothing else will come. */
  readonly isOver: boolean;
}

interface Stream {
  readonly id: string;
  readonly events: Set<KeptEvent>;
  /** The number of the latest event. */
  last: number;
  /** The number of the latest event that a client may have missed. */
  lost: number;
  isOver: boolean;
}

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_EVENTS = 1000;
const MAX_STREAMS = 500;
/** So long a client has to come back for what it was told last. */
const KEEP_MS = 5 * 60_000;
/** The SDK's name for events of no request. A client that misses some of them reads the current state instead. */
const STANDING = "_GET_stream";

/**
 * What one client was told of late, so that it misses nothing when a connection breaks: it comes back with the id of the last
 * event that it has. Memory is bounded; what was told long ago, or is too much, goes.
 */
export class EventLog implements EventStore {
  readonly #streams = new Map<string, Stream>();
  /** Of all streams, the oldest first. */
  readonly #events = new Set<KeptEvent>();
  /** Requests that were cancelled: their answer is not kept. */
  readonly #unwanted = new Set<RequestId>();
  #bytes = 0;

  constructor(private readonly options: EventLogOptions) {}

  /** For the SDK, before it sends something: the event's id. */
  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const stream = this.#streamOf(streamId);
    const number = ++stream.last;
    // With no message in it an event only has an id to come back with.
    if ("jsonrpc" in message) this.#add(stream, number, message);
    return `${streamId}_${number}`;
  }

  /** For the SDK: the same again, from after an event on. */
  async replayEventsAfter(
    lastEventId: string,
    { send }: { readonly send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    for (const { id, message } of this.after(lastEventId)?.events ?? []) await send(id, message);
    return parseEventId(lastEventId)?.stream ?? "";
  }

  /** Undefined: there is no such event, or something after it is gone. */
  after(lastEventId: string): Rest | undefined {
    const parsed = parseEventId(lastEventId);
    if (parsed === undefined) return undefined;
    const stream = this.#streams.get(parsed.stream);
    if (stream === undefined || parsed.number > stream.last) return undefined;
    if (parsed.number < stream.lost && stream.id !== STANDING) return undefined;
    const events = [...stream.events]
      .filter(({ number }) => number > parsed.number)
      .map(({ number, message }) => ({ id: `${stream.id}_${number}`, message }));
    return { events, isOver: stream.isOver };
  }

  /** The answer to this request, which ends its stream, is not kept when it comes. */
  forgetAnswer(id: RequestId): void {
    this.#unwanted.add(id);
  }

  /** Drops events that are too old to be replayed. */
  prune(): void {
    const before = this.#now() - KEEP_MS;
    for (const event of this.#events) {
      if (event.at > before) break;
      const stream = this.#streams.get(event.stream);
      if (stream?.isOver === true || stream?.id === STANDING) event.drop();
    }
  }

  close(): void {
    for (const event of this.#events) event.drop();
    this.#streams.clear();
  }

  #add(stream: Stream, number: number, message: JSONRPCMessage): void {
    const isAnswer = !("method" in message);
    if (isAnswer && message.id !== undefined && this.options.onAnswer(message.id)) stream.isOver = true;
    const isWanted = !(isAnswer && message.id !== undefined && this.#unwanted.delete(message.id));
    const isProgress = !isAnswer && message.method === "notifications/progress";
    // The latest says all that the earlier ones did.
    if (isProgress) for (const event of stream.events) if (event.isProgress) event.drop(false);
    const { memory, maxBytes = MAX_BYTES, maxEvents = MAX_EVENTS } = this.options;
    const bytes = isWanted ? Buffer.byteLength(JSON.stringify(message)) : 0;
    if (!isWanted || bytes > maxBytes) {
      if (isWanted) stream.lost = number;
      return;
    }
    const event: KeptEvent = {
      stream: stream.id,
      number,
      message,
      bytes,
      isProgress,
      at: this.#now(),
      drop: (isMissed = true) => this.#drop(stream, event, isMissed),
    };
    stream.events.add(event);
    this.#events.add(event);
    this.#bytes += bytes;
    memory.add(event);
    for (const oldest of this.#events) {
      if (this.#bytes <= maxBytes && this.#events.size <= maxEvents) break;
      oldest.drop();
    }
  }

  #drop(stream: Stream, event: KeptEvent, isMissed: boolean): void {
    if (!this.#events.delete(event)) return;
    this.#bytes -= event.bytes;
    this.options.memory.remove(event);
    stream.events.delete(event);
    if (isMissed) stream.lost = Math.max(stream.lost, event.number);
    if (stream.isOver && stream.lost === stream.last) this.#streams.delete(stream.id);
  }

  #streamOf(id: string): Stream {
    const known = this.#streams.get(id);
    if (known !== undefined) return known;
    const stream: Stream = { id, events: new Set(), last: 0, lost: 0, isOver: false };
    this.#streams.set(id, stream);
    for (const oldest of this.#streams.values()) {
      if (this.#streams.size <= MAX_STREAMS) break;
      if (oldest.id === STANDING) continue;
      for (const event of oldest.events) event.drop();
      this.#streams.delete(oldest.id);
    }
    return stream;
  }

  #now(): number {
    return this.options.now?.() ?? performance.now();
  }
}

function parseEventId(id: string): { readonly stream: string; readonly number: number } | undefined {
  const [, stream, number] = /^([\w-]{1,100})_(\d{1,15})$/.exec(id) ?? [];
  return stream === undefined ? undefined : { stream, number: Number(number) };
}
