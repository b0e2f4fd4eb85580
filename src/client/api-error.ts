import { ERROR_CODES, type ErrorCode, SandboxError } from "../errors.js";

/** What a server answered instead of what was asked for. `requestId` finds it in the server's log. */
export class ApiError extends SandboxError {
  readonly status: number;
  readonly requestId: string | undefined;
  /** How long the server asks to stay away. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    init: {
      readonly status: number;
      readonly hint?: string | undefined;
      readonly requestId?: string | undefined;
      readonly retryAfterMs?: number | undefined;
    },
  ) {
    super(code, message, init.hint === undefined ? {} : { hint: init.hint });
    this.name = "ApiError";
    this.status = init.status;
    this.requestId = init.requestId;
    this.retryAfterMs = init.retryAfterMs;
  }
}

/** The error that a body of a failed request stands for. */
export function apiErrorOf(
  body: unknown,
  status: number,
  headers: { get(name: string): string | null },
): ApiError {
  const { code, message, hint, requestId } = (body ?? {}) as Record<string, unknown>;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const about = {
    status,
    requestId: typeof requestId === "string" ? requestId : (headers.get("x-request-id") ?? undefined),
    retryAfterMs: Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : undefined,
  };
  if (typeof code === "string" && Object.hasOwn(ERROR_CODES, code) && typeof message === "string") {
    const told = typeof hint === "string" ? hint : undefined;
    return new ApiError(code as ErrorCode, message, { ...about, hint: told });
  }
  return new ApiError("SERVER_UNREACHABLE", `What answered with status ${status} is no server of ours`, {
    ...about,
    hint: "Is the url right, and what stands between?",
  });
}

/** The error where nobody answered at all. */
export function unreachable(url: URL, cause: unknown): SandboxError {
  return new SandboxError("SERVER_UNREACHABLE", `No server answers at ${url.origin}`, {
    hint: "Is it running (skerry serve), and is the url right?",
    cause,
  });
}
