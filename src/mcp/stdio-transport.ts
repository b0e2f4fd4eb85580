import type { Readable, Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ErrorCode, type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { LineReader } from "./line-reader.js";

export interface StdioTransportOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** The longest message that is taken; 32 MiB if left out. */
  readonly maxMessageBytes?: number | undefined;
}

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** A client that does not read its replies is not read from until it does. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/**
 * MCP over two streams, one message a line. What is no message is answered with an error, and the next line is read; the
 * SDK's own transport drops it, and does not end with its input.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #maxBytes: number;
  readonly #lines: LineReader;
  #isClosed = false;
  #room: Promise<void> | undefined;

  constructor({ input, output, maxMessageBytes = MAX_MESSAGE_BYTES }: StdioTransportOptions) {
    this.#input = input;
    this.#output = output;
    this.#maxBytes = maxMessageBytes;
    this.#lines = new LineReader({
      maxBytes: maxMessageBytes,
      onLine: (line) => this.#take(line),
      onTooLong: () => this.#refuse(ErrorCode.InvalidRequest, this.#tooLong()),
    });
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#onData);
    for (const event of ["end", "close", "error"]) this.#input.once(event, this.#onGone);
    this.#output.once("close", this.#onGone);
    // Stays: what is written after the end must not bring the process down.
    this.#output.on("error", this.#onGone);
    if (this.#input.readableEnded || this.#input.destroyed) this.#onGone();
  }

  /** Resolves when there is room for more, or the reader is gone. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return;
    const hasRoom = this.#output.write(`${JSON.stringify(message)}\n`);
    if (this.#output.writableLength > MAX_UNREAD_BYTES) this.#input.pause();
    if (hasRoom) return;
    this.#room ??= this.#waitForRoom();
    await this.#room;
  }

  async close(): Promise<void> {
    this.#onGone();
  }

  readonly #onData = (chunk: Buffer | string): void => {
    this.#lines.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  };

  readonly #onGone = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off("data", this.#onData);
    this.#input.pause();
    this.onclose?.();
  };

  /** One for all who wait: a stream warns of many listeners. */
  async #waitForRoom(): Promise<void> {
    const events = ["drain", "close", "error"];
    await new Promise<void>((resolve) => {
      const done = () => {
        for (const event of events) this.#output.off(event, done);
        resolve();
      };
      for (const event of events) this.#output.once(event, done);
    });
    this.#room = undefined;
    if (!this.#isClosed) this.#input.resume();
  }

  #take(line: Buffer): void {
    if (this.#isClosed) return;
    const text = line.toString("utf8").trim();
    if (text === "") return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return this.#refuse(ErrorCode.ParseError, "The line is not JSON: each message is one line of JSON");
    }
    const parsed = JSONRPCMessageSchema.safeParse(value);
    if (parsed.success) this.onmessage?.(parsed.data);
    else this.#refuse(ErrorCode.InvalidRequest, "The line is not a JSON-RPC 2.0 message", idOf(value));
  }

  #refuse(code: ErrorCode, message: string, id?: string | number): void {
    this.onerror?.(new Error(message));
    void this.send({ jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message } });
  }

  #tooLong(): string {
    return `The message is longer than ${this.#maxBytes} bytes`;
  }
}

/** The id of a broken message, so that its sender gets an answer. */
function idOf(value: unknown): string | number | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "id")) return undefined;
  const { id } = value as { readonly id: unknown };
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as string | number) : undefined;
}
