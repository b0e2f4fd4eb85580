import { addressOf, type Query } from "./address.js";
import { unreachable } from "./api-error.js";
import type { ClientSettings, SocketClass, SocketLike } from "./client-options.js";
import { SandboxError } from "./sandbox-error.js";
import type { Transport } from "./transport.js";

/** What ended a connection; 1000: all was said. */
export interface SocketEnd {
  readonly code: number;
  readonly reason: string;
}

const OPEN = 1;
const LOST: SocketEnd = { code: 1006, reason: "" };

/** One connection, whose messages are taken in turn. */
export class Socket {
  readonly #socket: SocketLike;
  readonly #messages: (string | Uint8Array)[] = [];
  #end: SocketEnd | undefined;
  #wake: (() => void) | undefined;

  private constructor(socket: SocketLike) {
    this.#socket = socket;
    socket.addEventListener("message", (event) => {
      const { data } = event as { data: string | ArrayBuffer };
      this.#messages.push(typeof data === "string" ? data : new Uint8Array(data));
      this.#wake?.();
    });
    socket.addEventListener("close", (event) => {
      const { code = LOST.code, reason = "" } = event as Partial<SocketEnd>;
      this.#end = { code, reason };
      this.#wake?.();
    });
  }

  /** Connects. Throws what the server says where it refuses. */
  static async open(transport: Transport, path: string, query: Query = {}): Promise<Socket> {
    transport.assertOpen();
    const { settings } = transport;
    const url = addressOf(settings.url, path, query);
    url.protocol = url.protocol.replace("http", "ws");
    const Class = await socketClass(settings);
    // No page can send a header with it: the key is one of the protocols, and is never said back.
    const socket = new Class(url.href, ["skerry", `skerry.key.${settings.apiKey}`]);
    socket.binaryType = "arraybuffer";
    const opened = new Socket(socket);
    const leave = () => opened.close();
    transport.ended.addEventListener("abort", leave, { once: true });
    socket.addEventListener("close", () => transport.ended.removeEventListener("abort", leave));
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.addEventListener("open", () => resolve(true));
      socket.addEventListener("error", () => resolve(false));
      socket.addEventListener("close", () => resolve(false));
    });
    transport.assertOpen();
    if (isOpen) return opened;
    throw await refusal(transport, path, query);
  }

  get isOpen(): boolean {
    return this.#socket.readyState === OPEN;
  }

  /** How it ended; undefined while it lasts. */
  get end(): SocketEnd | undefined {
    return this.#end;
  }

  /** Bytes that were given to it and have not gone out yet. */
  get waitingBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** What is sent after the end goes nowhere. */
  send(data: string | Uint8Array): void {
    if (this.isOpen) this.#socket.send(data);
  }

  close(code = 1000): void {
    this.#socket.close(code);
  }

  /** The next message; undefined: it has ended. One caller at a time. */
  async next(): Promise<string | Uint8Array | undefined> {
    while (this.#messages.length === 0 && this.#end === undefined)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#messages.shift();
  }
}

async function socketClass({ WebSocket: given }: ClientSettings): Promise<SocketClass> {
  const own = given ?? (globalThis as { WebSocket?: SocketClass }).WebSocket;
  // Node.js before 22 has none.
  return own ?? ((await import("ws")).WebSocket as unknown as SocketClass);
}

/** A WebSocket that is refused does not say why; a plain request for the same does. */
async function refusal(transport: Transport, path: string, query: Query): Promise<SandboxError> {
  const said = await transport.request("GET", path, { query }).then(
    () => undefined,
    (error: unknown) => (error instanceof SandboxError ? error : undefined),
  );
  // This is what it says where nothing is wrong.
  if (said !== undefined && said.code !== "UPGRADE_REQUIRED") return said;
  if (said === undefined) return unreachable(transport.settings.url, undefined);
  return new SandboxError("SERVER_UNREACHABLE", "The server answers, but a WebSocket to it does not open", {
    hint: "Does a proxy in front of the server pass upgrades on?",
    retryable: true,
  });
}
