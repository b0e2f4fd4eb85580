import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { ServerConfig } from "../../core/config/index.js";
import { SandboxError } from "../../kit/errors.js";
import { expandHome } from "../../kit/expand-home.js";
import type { Store } from "../store/index.js";

/** The header that says which server has sent a request on. Whoever else sends it is not sent on, and that is all. */
export const FORWARDED_BY = "skerry-forwarded-by";

/** Every address of a machine, in the forms that a URL knows. */
const WILDCARDS = ["0.0.0.0", "[::]", "[::ffff:0:0]"];

/** Refuses to be one of several servers under an address that is none. */
export function checkPeerAddress({ host, url }: ServerConfig, { kind }: Pick<Store, "kind">): void {
  if (kind !== "postgres" || url !== undefined) return;
  const { hostname } = new URL(urlFrom("http", host, 1));
  if (!WILDCARDS.includes(hostname)) return;
  throw new SandboxError(
    "CONFIG_INVALID",
    `With PostgreSQL other servers send requests on to this one, and ${host} is no address to reach it by`,
    { hint: "Set server.url, such as https://skerry-1.example.com:7070; or server.host to one address." },
  );
}

/** An address that is listened on, as a URL. */
export function urlFrom(scheme: "http" | "https", host: string, port: number): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Who vouches for the other servers; undefined: the usual ones. */
export function readPeerCa({ peerCa }: ServerConfig): Buffer | undefined {
  if (peerCa === undefined) return undefined;
  try {
    const ca = readFileSync(expandHome(peerCa));
    // A file without a certificate would be taken without a word, and vouch for nobody.
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
