import { addressOf, apiErrorOf, unreachable } from "@skerry/client";
import { ERROR_CODES, type ErrorCode, SandboxError } from "../../kit/errors.js";

const DEFAULT_URL = "http://127.0.0.1:7070";
const TIMEOUT_MS = 30_000;

/** For a person at a shell, instead of the server's words about HTTP. */
const HINTS: Hints = {
  UNAUTHENTICATED:
    "Set SKERRY_API_KEY to a key that is valid, or pass --key. `skerry keys create --name NAME` makes one.",
};

type Hints = Readonly<Partial<Record<ErrorCode, string>>>;

/** Asks a running server. Its errors are thrown as what they are, but for the statuses that the caller takes. */
export async function askServer(
  options: { readonly url?: string; readonly key?: string },
  method: string,
  path: string,
  json?: unknown,
  { alsoTaken = [], hints = {} }: { readonly alsoTaken?: readonly number[]; readonly hints?: Hints } = {},
): Promise<{ readonly status: number; readonly body: unknown }> {
  const key = options.key ?? process.env["SKERRY_API_KEY"];
  if (key === undefined) {
    throw new SandboxError("UNAUTHENTICATED", "The server takes an API key", {
      hint: "Set SKERRY_API_KEY, or pass --key. `skerry keys create --name NAME` makes one.",
    });
  }
  const url = parseUrl(options.url ?? process.env["SKERRY_URL"] ?? DEFAULT_URL);
  const response = await fetch(addressOf(url, path), {
    method,
    // A key must not follow to another server.
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      authorization: `Bearer ${key}`,
      ...(json !== undefined && { "content-type": "application/json" }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  }).catch((cause: unknown) => {
    throw noServer(url, cause);
  });
  const body: unknown = await response.json().catch((cause: unknown) => {
    throw noServer(url, cause);
  });
  if (response.ok || alsoTaken.includes(response.status)) return { status: response.status, body };
  const { code, message, hint: told, retryAfterMs } = apiErrorOf(body, response.status, response.headers);
  const later = retryAfterMs === undefined ? undefined : `Try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  const hint = hints[code] ?? HINTS[code] ?? later ?? told;
  // A newer server may have codes that this one does not.
  const known = Object.hasOwn(ERROR_CODES, code) ? code : "INTERNAL";
  throw new SandboxError(known, message, hint === undefined ? {} : { hint });
}

/** A path is a prefix, as behind a proxy. */
function parseUrl(text: string): URL {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new SandboxError("INVALID_ARGUMENT", "Expected the server's address to be a URL", {
      hint: `For example ${DEFAULT_URL}.`,
    });
  }
  const url = new URL(text);
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

function noServer(url: URL, cause: unknown): SandboxError {
  const { message, hint, retryable } = unreachable(url, cause);
  // About a certificate the client has said what there is to say.
  if (!retryable) return new SandboxError("SERVER_UNREACHABLE", message, { cause, ...(hint && { hint }) });
  return new SandboxError("SERVER_UNREACHABLE", `No Skerry server answers at ${url.origin}`, {
    hint: "Check that it runs (skerry serve), and SKERRY_URL or --url.",
    cause,
  });
}
