import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { ServerConfig } from "../../core/config/index.js";
import { SandboxError } from "../../kit/errors.js";
import { expandHome } from "../../kit/expand-home.js";
import { RETRY_AFTER_SECONDS, RetryLater } from "../http/index.js";
import type { Store } from "../store/index.js";

/** The header that names the server that forwarded a request. A client that sends it only prevents forwarding. */
export const FORWARDED_BY = "skerry-forwarded-by";

/** The wildcard addresses, as URLs write them. */
const WILDCARDS = ["0.0.0.0", "[::]", "[::ffff:0:0]"];

/** Refuses to join a cluster under a wildcard address. */
export function checkPeerAddress({ host, url }: ServerConfig, { kind }: Pick<Store, "kind">): void {
  if (kind !== "postgres" || url !== undefined) return;
  const { hostname } = new URL(urlFrom("http", host, 1));
  if (!WILDCARDS.includes(hostname)) return;
  throw new SandboxError(
    "CONFIG_INVALID",
    `With PostgreSQL other servers forward requests to this one, and ${host} is not an address that they can reach`,
    { hint: "Set server.url, such as https://skerry-1.example.com:7070; or server.host to one address." },
  );
}

/** An address that is listened on, as a URL. */
export function urlFrom(scheme: "http" | "https", host: string, port: number): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The certificate authorities of the other servers; undefined: the system's. */
export function readPeerCa({ peerCa }: ServerConfig): Buffer | undefined {
  if (peerCa === undefined) return undefined;
  try {
    const ca = readFileSync(expandHome(peerCa));
    // Node accepts a file without a certificate silently, and would then trust no server.
    if (!ca.includes("-----BEGIN CERTIFICATE-----")) throw new Error("no certificate in it");
    createSecureContext({ ca });
    return ca;
  } catch (cause) {
    throw new SandboxError("CONFIG_INVALID", "The certificates of server.peerCa cannot be used", {
      hint: "It is a file in PEM that this user may read.",
      cause,
    });
  }
}

/** The owner does not answer, and no other server has the session. */
export function ownerUnreachable(cause?: unknown): RetryLater {
  return new RetryLater(
    "SERVER_UNREACHABLE",
    "The server that has this session does not answer",
    RETRY_AFTER_SECONDS,
    "Try again after Retry-After seconds. A session whose server stays away ends.",
    cause,
  );
}
