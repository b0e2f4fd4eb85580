import { ERROR_CODES, type ErrorCode, SandboxError, systemCode } from "../kit/errors.js";

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

/** The error where nobody answered at all, or somebody whom nothing vouches for. */
export function unreachable(url: URL, cause: unknown): SandboxError {
  const code = distrustOf(cause);
  if (code !== undefined) return new UntrustedServer(url, code, cause);
  return new SandboxError("SERVER_UNREACHABLE", `No server answers at ${url.origin}`, {
    hint: "Is it running (skerry serve), and is the url right?",
    cause,
  });
}

/** What Node.js says of a certificate, and what helps. */
const DISTRUST: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "SELF_SIGNED_CERT_IN_CHAIN",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "UNABLE_TO_GET_ISSUER_CERT",
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
      "CERT_UNTRUSTED",
    ].map((code) => [code, "Set NODE_EXTRA_CA_CERTS to a file in PEM with whoever signed it."]),
  ),
  CERT_HAS_EXPIRED: "Renew it; one of your own also has to be in the file that NODE_EXTRA_CA_CERTS names.",
  CERT_NOT_YET_VALID: "Is the clock of this machine right?",
  ERR_TLS_CERT_ALTNAME_INVALID: "Use a name in the url that the certificate has.",
};
const MAX_CHAIN = 5;

/** Asking again would not make it trusted. */
class UntrustedServer extends SandboxError {
  constructor(url: URL, code: string, cause: unknown) {
    super("SERVER_UNREACHABLE", `The certificate of the server at ${url.origin} is not trusted (${code})`, {
      hint: DISTRUST[code]!,
      cause,
    });
  }

  override get retryable(): boolean {
    return false;
  }
}

/** The code of an error, or of what caused it, that is about a certificate. */
function distrustOf(error: unknown): string | undefined {
  let each = error;
  for (let depth = 0; depth < MAX_CHAIN && each instanceof Error; depth++, each = each.cause) {
    const code = systemCode(each);
    if (code !== undefined && Object.hasOwn(DISTRUST, code)) return code;
  }
  return undefined;
}
