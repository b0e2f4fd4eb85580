import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ServerConfig } from "../../core/config/index.js";
import { SandboxError } from "../../kit/errors.js";

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const METHODS = "GET, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS = [
  "authorization",
  "content-type",
  "accept",
  "idempotency-key",
  "x-request-id",
  "mcp-session-id",
  "mcp-protocol-version",
  "last-event-id",
  "x-skerry-session",
  "x-skerry-role",
].join(", ");
const RESPONSE_HEADERS =
  "x-request-id, retry-after, content-disposition, www-authenticate, mcp-session-id, mcp-protocol-version, x-skerry-from";

/** True for an address that only this machine reaches. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}

/** Refuses to listen without TLS on an address that other machines reach, unless `server.insecure` allows it. */
export function checkAddress({ host, tls, insecure }: ServerConfig): void {
  if (isLoopback(host) || tls !== undefined || insecure) return;
  throw new SandboxError(
    "CONFIG_INVALID",
    `Without TLS the server listens on the loopback only, not on ${host}`,
    {
      hint: "Set server.tls.cert and server.tls.key; or server.insecure to true where something in front of it has TLS.",
    },
  );
}

/** The host names that a request may use. A page that rebinds its own name to our address (DNS rebinding) uses another one. */
function allowedHosts({ host, hosts, url }: ServerConfig): ReadonlySet<string> {
  const forOthers = url === undefined ? [] : [new URL(url).hostname];
  return new Set([...LOOPBACK_NAMES, isIP(host) === 6 ? `[${host}]` : host, ...hosts, ...forOthers]);
}

/** Refuses requests for other host names and from other origins; answers preflight requests. True: it was answered. */
export function createOriginCheck(config: ServerConfig) {
  const hosts = allowedHosts(config);
  const origins = new Set(config.origins);
  const scheme = config.tls === undefined ? "http" : "https";
  return (request: FastifyRequest, reply: FastifyReply): boolean => {
    const named = request.headers.host ?? "";
    if (!hosts.has(named.replace(/:\d{1,5}$/, "").toLowerCase())) {
      throw new SandboxError("FORBIDDEN", "This server does not serve that host name", {
        hint: "Add the host to server.hosts.",
      });
    }
    const { origin } = request.headers;
    if (origin === undefined) return false;
    const isOwn = origin === `${scheme}://${named}`;
    if (!isOwn && !origins.has(origin)) {
      throw new SandboxError("FORBIDDEN", "Pages of that origin may not use this server", {
        hint: "Add the origin to server.origins.",
      });
    }
    if (isOwn) return false;
    void reply.headers({
      "access-control-allow-origin": origin,
      "access-control-expose-headers": RESPONSE_HEADERS,
      vary: "origin",
    });
    if (request.method !== "OPTIONS") return false;
    void reply
      .code(204)
      .headers({
        "access-control-allow-methods": METHODS,
        "access-control-allow-headers": REQUEST_HEADERS,
        "access-control-max-age": "600",
      })
      .send();
    return true;
  };
}
