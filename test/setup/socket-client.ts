import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { waitUntil } from "../../src/kit/wait-until.js";

/** What a refused upgrade was told. */
interface Refused {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says
  readonly body: any;
}

/** A WebSocket to the server, and what came over it. */
export class SocketClient {
  readonly socket: WebSocket;
  readonly upgrade: IncomingMessage;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says
  readonly messages: any[] = [];
  readonly #pieces: Buffer[] = [];
  /** Resolves to the code that it was closed with. */
  readonly closed: Promise<number>;
  /** How many bytes have come. */
  received = 0;
  #take: ((bytes: Buffer) => void) | undefined;

  private constructor(socket: WebSocket, upgrade: IncomingMessage) {
    this.socket = socket;
    this.upgrade = upgrade;
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    socket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) return void this.messages.push(JSON.parse(String(data)));
      this.received += data.length;
      if (this.#take === undefined) this.#pieces.push(data);
      else this.#take(data);
    });
  }

  /** Connects; rejects with what it was told instead. */
  static open(
    url: string,
    { key, protocols = [], headers = {} }: { key?: string; protocols?: string[]; headers?: object },
  ): Promise<SocketClient> {
    const all = { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
    const socket = new WebSocket(url.replace(/^http/, "ws"), protocols, { headers: all });
    return new Promise((resolve, reject) => {
      socket.once("upgrade", (response) => {
        const client = new SocketClient(socket, response);
        socket.once("open", () => resolve(client));
      });
      socket.once("error", reject);
      socket.once("unexpected-response", async (_, response: IncomingMessage) => {
        let text = "";
        for await (const piece of response) text += piece;
        reject({ status: response.statusCode, body: JSON.parse(text) } as Refused);
      });
    });
  }

  /** Bytes go there instead of being kept, also those that have come already. */
  takeBytes(take: (bytes: Buffer) => void): void {
    for (const piece of this.#pieces.splice(0)) take(piece);
    this.#take = take;
  }

  /** Everything that was not taken yet. */
  get bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }

  send(data: string | Uint8Array | object): void {
    if (typeof data === "string" || data instanceof Uint8Array) this.socket.send(Buffer.from(data as string));
    else this.socket.send(JSON.stringify(data));
  }

  /** Resolves to the first message of a type. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says
  async message(type: string): Promise<any> {
    await waitUntil(() => this.messages.some((each) => each.type === type), 30_000);
    return this.messages.find((each) => each.type === type);
  }

  /** Resolves when a text is on it. */
  async shows(text: string): Promise<void> {
    await waitUntil(() => this.text.includes(text), 30_000);
  }

  /** Leaves without a word. */
  async drop(): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }
}
