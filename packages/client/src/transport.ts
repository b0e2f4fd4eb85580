import { addressOf, type Query } from "./address.js";
import { type ApiError, apiErrorOf, unreachable } from "./api-error.js";
import type { ClientSettings } from "./client-options.js";
import { backoffMs, pause } from "./reconnector.js";
import { cancelled, SandboxError } from "./sandbox-error.js";

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
  /** What a redirect is: `manual` an answer. Left out: an error, since the key must not follow to another server. */
  readonly redirect?: "error" | "manual";
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
  /** Aborts when nothing may be asked any more; its reason is the error of every later request and of every call that still waits. */
  readonly ended: AbortSignal;

  constructor(settings: ClientSettings, ended: AbortSignal = new AbortController().signal) {
    this.settings = settings;
    this.ended = ended;
  }

  assertOpen(): void {
    if (this.ended.aborted) throw this.ended.reason;
  }

  /** The JSON that is answered. Throws what the server says instead. */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    return this.read(
      await this.request(method, path, options),
      (response) => response.json() as Promise<T>,
      options,
    );
  }

  /** What an answer holds. */
  async read<T>(
    response: Response,
    how: (response: Response) => Promise<T>,
    { signal }: Pick<RequestOptions, "signal"> = {},
  ): Promise<T> {
    try {
      return await how(response);
    } catch (error) {
      throw this.#lostAnswer(signal, error);
    }
  }

  /** The body of an answer, as it comes. */
  stream(response: Response, { signal }: Pick<RequestOptions, "signal"> = {}): ReadableStream<Uint8Array> {
    const reader = (response.body ?? new Blob([]).stream()).getReader();
    return new ReadableStream({
      pull: async (controller) => {
        const { done, value } = await reader.read().catch((error: unknown) => {
          throw this.#lostAnswer(signal, error);
        });
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
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
    { query, json, body, headers, signal, redirect = "error", alsoTaken = [] }: RequestOptions,
  ): Promise<Response | { readonly failure: SandboxError; readonly wasRefused: boolean }> {
    const { url, apiKey, fetch } = this.settings;
    const sent = body === undefined ? undefined : sending(body.content);
    const init: RequestInit & { duplex?: "half" } = {
      method,
      redirect,
      headers: {
        ...(json !== undefined && { "content-type": "application/json" }),
        ...(body?.type !== undefined && { "content-type": body.type }),
        ...Object.fromEntries(new Headers(headers)),
        authorization: `Bearer ${apiKey}`,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(sent !== undefined && { body: sent.content, duplex: "half" as const }),
      signal: signal === undefined ? this.ended : AbortSignal.any([signal, this.ended]),
    };
    let response: Response;
    try {
      response = await fetch(addressOf(url, path, query), init);
    } catch (error) {
      const failure = signal?.aborted === true ? undefined : sent?.failure();
      return { failure: failure ?? this.#lostAnswer(signal, error), wasRefused: false };
    }
    if (response.ok || alsoTaken.includes(response.status) || isFromInside(response)) return response;
    const failure =
      response.type === "opaqueredirect"
        ? new SandboxError("UNSUPPORTED", "A browser does not show a redirect")
        : apiErrorOf(await response.json().catch(() => undefined), response.status, response.headers);
    return { failure, wasRefused: REFUSED.has(failure.code) };
  }

  #lostAnswer(signal: AbortSignal | undefined, error: unknown): SandboxError {
    if (this.ended.aborted) return this.ended.reason as SandboxError;
    if (signal?.aborted === true) return cancelled(error);
    return unreachable(this.settings.url, error);
  }
}

/** What is sent, and whether it was its own failure that ended the request. */
function sending(content: Body): {
  readonly content: Body;
  readonly failure: () => SandboxError | undefined;
} {
  if (!(content instanceof ReadableStream)) return { content, failure: () => undefined };
  let failure: SandboxError | undefined;
  const reader = content.getReader();
  const watched = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value as Uint8Array);
      } catch (cause) {
        failure = new SandboxError("FILE_FAILED", "The stream that was to be sent failed", { cause });
        throw cause;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { content: watched, failure: () => failure };
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
