import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { systemCode } from "../../../kit/errors.js";

/** Where the systems keep the certificates that they trust, in one file. */
const SYSTEM_BUNDLES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** What programs inside trust, in PEM: what this host trusts, and the authority of egress. */
export function createCaBundle(certificate: string, places: readonly string[] = SYSTEM_BUNDLES): string {
  const system = places.map(readBundle).find((text) => text !== undefined) ?? rootCertificates.join("\n");
  return `${system.trimEnd()}\n${certificate}`;
}

function readBundle(path: string): string | undefined {
  try {
    const text = readFileSync(path, "utf8");
    return text.includes("-----BEGIN CERTIFICATE-----") ? text : undefined;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES", "EISDIR"].includes(systemCode(error) ?? "")) return undefined;
    throw error;
  }
}
