import { type IncomingHttpHeaders, type OutgoingHttpHeaders, validateHeaderValue } from "node:http";

/** Between two neighbours only. */
const HOP_BY_HOP = [
  "connection",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/**
 * What a request says about itself. Everything else stays out: what runs inside may be an attacker's, and a gateway in front
 * of this server names the caller in headers that nobody here knows.
 */
const INSIDE = new Set([
  "accept",
  "accept-charset",
  "accept-encoding",
  "accept-language",
  "cache-control",
  "content-digest",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-md5",
  "content-range",
  "content-type",
  "digest",
  "idempotency-key",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-event-id",
  "pragma",
  "prefer",
  "range",
  "repr-digest",
  "soapaction",
  "user-agent",
  "want-content-digest",
  "want-repr-digest",
  "x-http-method-override",
  "x-requested-with",
]);

/** What would act on this server's origin, of which a page from inside is none. */
const NOT_OUTSIDE = new Set([
  ...HOP_BY_HOP,
  "accept-ch",
  "activate-storage-access",
  "alt-svc",
  "cache-control",
  "clear-site-data",
  "content-security-policy",
  "content-security-policy-report-only",
  "critical-ch",
  "document-isolation-policy",
  "document-policy",
  "document-policy-report-only",
  "expect-ct",
  "feature-policy",
  "integrity-policy",
  "integrity-policy-report-only",
  "link",
  "nel",
  "no-vary-search",
  "observe-browsing-topics",
  "origin-agent-cluster",
  "permissions-policy",
  "public-key-pins",
  "public-key-pins-report-only",
  "referrer-policy",
  "refresh",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "set-cookie",
  "set-cookie2",
  "set-login",
  "speculation-rules",
  "strict-transport-security",
  "supports-loading-mode",
  "timing-allow-origin",
  "use-as-dictionary",
  "vary",
  "www-authenticate",
  "x-content-type-options",
  "x-request-id",
]);
const NOT_OUTSIDE_PREFIXES = [
  "access-control-",
  "attribution-reporting-",
  "cross-origin-",
  "proxy-",
  "sec-",
  "secure-session-",
  "x-skerry-",
];

/** Says that an answer is a program's, whatever its status is, and none of this server's. */
const FROM_HEADER = "x-skerry-from";

/** The headers of a request that goes inside. The framing of its body is written again, as this server parsed it. */
export function headersInside(
  headers: IncomingHttpHeaders,
  port: number,
  method: string,
): OutgoingHttpHeaders {
  const { "content-length": length, "transfer-encoding": chunked } = headers;
  const framing =
    chunked !== undefined
      ? { "transfer-encoding": "chunked" }
      : length !== undefined || ["POST", "PUT", "PATCH"].includes(method)
        ? { "content-length": length ?? "0" }
        : {};
  return {
    ...passed(headers, (name) => INSIDE.has(name)),
    host: `localhost:${port}`,
    connection: "close",
    ...framing,
  };
}

/** The headers of an answer from inside, and those that keep it from being more than data. */
export function headersOutside(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return {
    ...passed(
      headers,
      (name) => !NOT_OUTSIDE.has(name) && !NOT_OUTSIDE_PREFIXES.some((prefix) => name.startsWith(prefix)),
    ),
    "cache-control": "no-store",
    "content-security-policy": "sandbox",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    [FROM_HEADER]: "inside",
  };
}

function passed(headers: IncomingHttpHeaders, mayPass: (name: string) => boolean): OutgoingHttpHeaders {
  const named = namesIn(headers.connection);
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) =>
        value !== undefined &&
        mayPass(name) &&
        !named.has(name) &&
        [value].flat().every((each) => canStand(name, each)),
    ),
  );
}

/** Headers that `Connection` names are for the neighbour as well. */
function namesIn(connection: string | undefined): ReadonlySet<string> {
  return new Set((connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
}

function canStand(name: string, value: string): boolean {
  try {
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
