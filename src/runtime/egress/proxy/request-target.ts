import type { IncomingMessage } from "node:http";
import { type Authority, formatAuthority, parseAuthority } from "../rules/host.js";
import type { HttpHeader } from "../secrets/edge-secrets.js";

/** The host of a connection's requests: the one each request names, or one that is fixed for the connection. */
export type Scope =
  | { readonly kind: "proxy" }
  | { readonly kind: "origin"; readonly authority: Authority; readonly secure: boolean };

/** A request's target as we understand it, or why it has none. */
export type Target =
  | { readonly ok: true; readonly authority: Authority; readonly secure: boolean; readonly path: string }
  | { readonly ok: false; readonly status: 400 | 403; readonly why: string; readonly raw: string };

const ABSOLUTE = /^(https?):\/\/([^/?#]*)([^#]*)$/is;
/** What may stand in a request line; the rest is read in different ways by different servers. */
const PLAIN_PATH = /^(?:\/[\x21-\x22\x24-\x7e]*|\*)$/;

/** Reads where a request wants to go. Host and request line have to agree: servers differ in which one they believe. */
export function readTarget(request: IncomingMessage, scope: Scope): Target {
  const line = request.url ?? "";
  const absolute = ABSOLUTE.exec(line);
  const refuse = (status: 400 | 403, why: string): Target => ({
    ok: false,
    status,
    why,
    raw: absolute?.[2] ?? line,
  });
  if (absolute === null && scope.kind === "proxy") {
    return refuse(400, "this is a proxy: the request line needs a whole URL, such as http://host/path");
  }
  const secure = scope.kind === "origin" && scope.secure;
  const ownPort = secure ? 443 : 80;
  if (absolute !== null && absolute[1]!.toLowerCase() !== (secure ? "https" : "http")) {
    return refuse(400, "the URL has another scheme than the connection: use CONNECT for https");
  }
  const named = absolute === null ? undefined : parseAuthority(absolute[2]!, ownPort);
  if (absolute !== null && named === undefined)
    return refuse(403, "the URL has no host that could be reached");
  const authority = scope.kind === "origin" ? scope.authority : named!;
  if (named !== undefined && !isSame(named, authority)) {
    return refuse(
      403,
      `the request is for ${formatAuthority(named)}, the connection for ${formatAuthority(authority)}`,
    );
  }
  const hosts = headersOf(request.rawHeaders).filter(([name]) => name.toLowerCase() === "host");
  if (hosts.length > 1 || (hosts.length === 0 && request.httpVersion !== "1.0")) {
    return refuse(400, "a request needs one Host header");
  }
  const told = hosts[0] === undefined ? authority : parseAuthority(hosts[0][1], ownPort);
  if (told === undefined || !isSame(told, authority)) {
    return refuse(403, `the Host header is not for ${formatAuthority(authority)}, where the request goes`);
  }
  const path = absolute === null ? line : absolute[3]!.replace(/^(?!\/)/, "/");
  if (!PLAIN_PATH.test(path) || (path === "*" && request.method !== "OPTIONS")) {
    return refuse(400, "the request line has an invalid path");
  }
  return { ok: true, authority, secure, path };
}

export function isSame(one: Authority, other: Authority): boolean {
  return formatAuthority(one) === formatAuthority(other);
}

/** `rawHeaders` in pairs. */
export function headersOf(raw: readonly string[]): HttpHeader[] {
  const headers: HttpHeader[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) headers.push([raw[at]!, raw[at + 1]!]);
  return headers;
}

const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-authentication-info",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The headers that are not about this one connection. */
export function endToEnd(headers: readonly HttpHeader[]): HttpHeader[] {
  const named = headers
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((token) => token.trim().toLowerCase()));
  // A length is about the message: to leave it out would change what the message is.
  const dropped = new Set(named.filter((name) => name !== "content-length"));
  return headers.filter(([name]) => !HOP_BY_HOP.has(name.toLowerCase()) && !dropped.has(name.toLowerCase()));
}
