import { type ErrorCode, SandboxError } from "./sandbox-error.js";

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
      readonly retryable: boolean;
      readonly hint?: string | undefined;
      readonly requestId?: string | undefined;
      readonly retryAfterMs?: number | undefined;
    },
  ) {
    super(code, message, { hint: init.hint, retryable: init.retryable });
    this.name = "ApiError";
    this.status = init.status;
    this.requestId = init.requestId;
    this.retryAfterMs = init.retryAfterMs;
  }
}

/** Instead of the server's, which speak of routes and headers. */
const HINTS: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: "Is the API key right, and has it not been revoked?",
  SESSION_NOT_FOUND: "List the sessions to see which there are, or make another one.",
};

/** The error that a body of a failed request stands for. */
export function apiErrorOf(
  body: unknown,
  status: number,
  headers: { get(name: string): string | null },
): ApiError {
  const { code, message, hint, requestId, retryable } = (body ?? {}) as Record<string, unknown>;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const about = {
    status,
    requestId: typeof requestId === "string" ? requestId : (headers.get("x-request-id") ?? undefined),
    retryAfterMs: Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : undefined,
  };
  if (typeof code === "string" && /^[A-Z_]+$/.test(code) && typeof message === "string") {
    const told =
      HINTS[code] ?? (typeof hint === "string" && !/\/v1\/|openapi\.json/.test(hint) ? hint : undefined);
    // Which part of the request a field is in is the client's own business.
    const plain = message.replaceAll(/(?<=: |; )(?:body|querystring|params|headers)(?:\.|: )/g, "");
    return new ApiError(code as ErrorCode, plain, { ...about, hint: told, retryable: retryable === true });
  }
  return new ApiError("SERVER_UNREACHABLE", `What answered with status ${status} is not a Skerry server`, {
    ...about,
    hint: "Check the url, and any proxy in front of the server.",
    retryable: true,
  });
}

/** The error where no server answered, or one whose certificate is not trusted: asking again does not help there. */
export function unreachable(url: URL, cause: unknown): SandboxError {
  const code = distrustOf(cause);
  if (code !== undefined) {
    const message = `The certificate of the server at ${url.origin} is not trusted (${code})`;
    return new SandboxError("SERVER_UNREACHABLE", message, { hint: DISTRUST[code], cause });
  }
  return new SandboxError("SERVER_UNREACHABLE", `No server answers at ${url.origin}`, {
    hint: "Is it running (skerry serve), and is the url right?",
    cause,
    retryable: true,
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
    ].map((code) => [code, "Set NODE_EXTRA_CA_CERTS to a file in PEM with the certificate of its issuer."]),
  ),
  CERT_HAS_EXPIRED: "Renew it; one of your own also has to be in the file that NODE_EXTRA_CA_CERTS names.",
  CERT_NOT_YET_VALID: "Is the clock of this machine right?",
  ERR_TLS_CERT_ALTNAME_INVALID: "Use a name in the url that the certificate has.",
};
const MAX_CHAIN = 5;

/** The code of an error, or of what caused it, that is about a certificate. */
function distrustOf(error: unknown): string | undefined {
  let each = error;
  for (let depth = 0; depth < MAX_CHAIN && each instanceof Error; depth++, each = each.cause) {
    const code = (each as { readonly code?: unknown }).code;
    if (typeof code === "string" && Object.hasOwn(DISTRUST, code)) return code;
  }
  return undefined;
}
