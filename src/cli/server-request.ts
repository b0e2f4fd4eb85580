import { ERROR_CODES, type ErrorCode, SandboxError } from "../errors.js";

const DEFAULT_URL = "http://127.0.0.1:7070";
const TIMEOUT_MS = 30_000;

/** Asks a running server. Its errors are thrown as what they are, but for the statuses that the caller takes. */
export async function askServer(
  options: { readonly url?: string; readonly key?: string },
  method: string,
  path: string,
  json?: unknown,
  alsoTaken: readonly number[] = [],
): Promise<{ readonly status: number; readonly body: unknown }> {
  const url = options.url ?? process.env["SKERRY_URL"] ?? DEFAULT_URL;
  const key = options.key ?? process.env["SKERRY_API_KEY"];
  if (key === undefined) {
    throw new SandboxError("UNAUTHENTICATED", "The server takes an API key", {
      hint: "Set SKERRY_API_KEY, or pass --key. `skerry keys create` makes one.",
    });
  }
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new SandboxError("INVALID_ARGUMENT", "Expected the server's address to be a URL", {
      hint: `For example ${DEFAULT_URL}.`,
    });
  }
  const response = await fetch(new URL(path, url), {
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
    throw unreachable(url, cause);
  });
  const body: unknown = await response.json().catch((cause: unknown) => {
    throw unreachable(url, cause);
  });
  if (response.ok || alsoTaken.includes(response.status)) return { status: response.status, body };
  const { code, message, hint } = (body ?? {}) as Record<string, unknown>;
  if (typeof code !== "string" || !Object.hasOwn(ERROR_CODES, code) || typeof message !== "string")
    throw unreachable(url, undefined);
  throw new SandboxError(code as ErrorCode, message, typeof hint === "string" ? { hint } : {});
}

function unreachable(url: string, cause: unknown): SandboxError {
  return new SandboxError("SERVER_UNREACHABLE", `No server of ours answers at ${new URL(url).origin}`, {
    hint: "Is it running (skerry serve), and is SKERRY_URL or --url right?",
    cause,
  });
}
