import { checkOptions } from "./check-options.js";
import { SandboxError } from "./sandbox-error.js";

/** The part of a browser's WebSocket that is used. */
export interface SocketLike {
  binaryType: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: unknown) => void): void;
}

export type SocketClass = new (url: string, protocols: string[]) => SocketLike;

export interface ClientOptions {
  /** Where the server is: `https://skerry.example.com`. */
  readonly url: string | URL;
  /** From `skerry keys create`. */
  readonly apiKey: string;
  /** Instead of the platform's. */
  readonly fetch?: typeof globalThis.fetch;
  /** Instead of the platform's; Node.js before 22 has none, and takes the package ws. */
  readonly WebSocket?: SocketClass;
  /** How often something that is safe to repeat is tried again. Default 3. */
  readonly retries?: number;
}

/** Options that have been looked at. */
export interface ClientSettings {
  readonly url: URL;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  readonly WebSocket: SocketClass | undefined;
  readonly retries: number;
}

const DEFAULT_RETRIES = 3;

/** Throws INVALID_ARGUMENT where an option makes no sense. */
export function checkClientOptions(options: ClientOptions): ClientSettings {
  const known = { url: true, apiKey: true, fetch: true, WebSocket: true, retries: true } as const;
  const { url, apiKey, retries = DEFAULT_RETRIES } = checkOptions<ClientOptions>(options ?? {}, known);
  const text = String(url);
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new SandboxError("INVALID_ARGUMENT", "url is the address of a server", {
      hint: "For example http://127.0.0.1:7070.",
    });
  }
  if (typeof apiKey !== "string" || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new SandboxError("INVALID_ARGUMENT", "apiKey is a key of the server", {
      hint: "`skerry keys create` makes one.",
    });
  }
  if (!Number.isInteger(retries) || retries < 0 || retries > 20) {
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `retries is a whole number from 0 to 20, not ${String(retries)}`,
    );
  }
  const parsed = new URL(text);
  // A path is a prefix, as behind a proxy.
  if (!parsed.pathname.endsWith("/")) parsed.pathname += "/";
  return {
    url: parsed,
    apiKey,
    retries,
    // Called as a method of ours, a browser's would refuse.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    WebSocket: options.WebSocket,
  };
}
