import { addressOf, type Query } from "./address.js";
import { type ApiError, apiErrorOf, unreachable } from "./api-error.js";
import type { ClientSettings } from "./client-options.js";
import { backoffMs, pause } from "./reconnector.js";
import { SandboxError } from "./sandbox-error.js";

/** What a request can send, besides JSON. */
export type Body = NonNullable<RequestInit["body"]>;

export interface RequestOptions {
  readonly query?: Query | undefined;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as bytes of that type; left out: what `fetch` says it is. A stream cannot be sent twice. */
  readonly body?: { readonly type?: string; readonly content: Body };
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** To do it twice is to do it once. Left out: true for GET, HEAD, PUT and DELETE. */
  readonly isRepeatable?: boolean | undefined;
  /** Statuses that are answers, too. */
  readonly alsoTaken?: readonly number[];
}

const REPEATABLE = ["GET", "HEAD", "PUT", "DELETE"];

/** The server refused these before anything happened. */
const REFUSED = new Set(["RATE_LIMITED", "SERVER_STOPPING"]);
const LONGEST_WAIT_MS = 30_000;
const GONE_STATUS = 404;

/** Requests to one server. What is safe to repeat is repeated when it fails on the way; nothing else ever is. */
export class Transport {
  readonly settings: ClientSettings;
  /** Throws where nothing may be asked any more. */
  readonly assertOpen: () => void;

  constructor(settings: ClientSettings, assertOpen: () => void = () => undefined) {
    this.settings = settings;
    this.assertOpen = assertOpen;
  }

  /** The JSON that is answered. Throws what the server says instead. */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.request(method, path, options);
    try {
      return (await response.json()) as T;
    } catch (error) {
      throw lostAnswer(options.signal, this.settings.url, error);
    }
  }

  /** The answer, with its body still to be read. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    this.assertOpen();
    const isRepeatable = options.isRepeatable ?? REPEATABLE.includes(method);
    const isSentOnce = options.body?.content instanceof ReadableStream;
    let mayHaveBeenDone = false;
    for (let attempt = 0; ; attempt++) {
      const came = await this.#once(method, path, options);
      if (came instanceof Response) return came;
      const { failure, wasRefused } = came;
      // The one whose answer was lost has done it.
      if (method === "DELETE" && mayHaveBeenDone && isGone(failure)) return Response.json({ deleted: true });
      mayHaveBeenDone ||= !wasRefused;
      const maySend = !isSentOnce && (wasRefused || (isRepeatable && failure.retryable));
      if (!maySend || attempt >= this.settings.retries || options.signal?.aborted === true) throw failure;
      await pause(waitMs(failure, attempt), options.signal);
    }
  }

  async #once(
    method: string,
    path: string,
    { query, json, body, headers, signal, alsoTaken = [] }: RequestOptions,
  ): Promise<Response | { readonly failure: SandboxError; readonly wasRefused: boolean }> {
    const { url, apiKey, fetch } = this.settings;
    const init: RequestInit & { duplex?: "half" } = {
      method,
      // A key must not follow to another server.
      redirect: "error",
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(json !== undefined && { "content-type": "application/json" }),
        ...(body?.type !== undefined && { "content-type": body.type }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(body !== undefined && { body: body.content, duplex: "half" as const }),
      ...(signal !== undefined && { signal }),
    };
    let response: Response;
    try {
      response = await fetch(addressOf(url, path, query), init);
    } catch (error) {
      return { failure: lostAnswer(signal, url, error), wasRefused: false };
    }
    if (response.ok || alsoTaken.includes(response.status) || isFromInside(response)) return response;
    const failure = apiErrorOf(
      await response.json().catch(() => undefined),
      response.status,
      response.headers,
    );
    return { failure, wasRefused: REFUSED.has(failure.code) };
  }
}

function lostAnswer(signal: AbortSignal | undefined, url: URL, error: unknown): SandboxError {
  if (signal?.aborted === true)
    return new SandboxError("CANCELLED", "The request was cancelled", { cause: error });
  return unreachable(url, error);
}

/** A program's own answer, passed on: whatever it says, the server did its part. */
function isFromInside({ headers }: Response): boolean {
  return headers.get("x-skerry-from") === "inside";
}

function isGone(failure: SandboxError): boolean {
  return "status" in failure && failure.status === GONE_STATUS;
}

/** As long as the server says, or twice as long each time; not all callers at once. */
function waitMs(failure: SandboxError | ApiError, attempt: number): number {
  const asked = "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
  return Math.min(LONGEST_WAIT_MS, Math.max(asked ?? 0, backoffMs(attempt)));
}
