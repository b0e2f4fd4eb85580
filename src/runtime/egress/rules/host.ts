import { isIPv4 } from "node:net";
import { domainToASCII } from "node:url";
import { canonicalAddress } from "./addresses.js";

/** A connection's host, in the one spelling that rules are compared with. */
export type Host =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "address"; readonly address: string };

/** A host and its port, as a request line, a Host header and CONNECT name them. */
export interface Authority {
  readonly host: Host;
  readonly port: number;
}

const MAX_NAME = 253;
const LABEL = /^[a-z0-9_-]{1,63}$/;
/** Every character of ASCII that a name may not have; the others go through IDNA, which has its own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to be found
const FOREIGN = /[\x00-\x2c\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]/;
/** `1`, `0x7f`: as the last label they make an address of the whole. */
const NUMBER = /^(?:\d+|0x[\da-f]*)$/;

/**
 * Reads a host as the system would: `127.1` and `0x7f000001` are the address that they mean. Undefined: whatever could be
 * read in two ways, or names nothing.
 */
export function parseHost(raw: string): Host | undefined {
  if (raw.length > 4 * MAX_NAME) return undefined;
  if (raw.includes(":")) return addressOf(/^\[.*\]$/s.test(raw) ? raw.slice(1, -1) : raw);
  if (FOREIGN.test(raw)) return undefined;
  const ascii = domainToASCII(raw).replace(/\.$/, "");
  if (isIPv4(ascii)) return addressOf(ascii);
  const labels = ascii.split(".");
  if (ascii.length > MAX_NAME || !labels.every((label) => LABEL.test(label))) return undefined;
  return NUMBER.test(labels.at(-1)!) ? undefined : { kind: "name", name: ascii };
}

/** Reads `host:port`; without a port it is the default one, and without that it is no authority. */
export function parseAuthority(text: string, defaultPort?: number): Authority | undefined {
  const match = /^(\[[^[\]]*\]|[^:[\]]*)(?::(\d{1,5}))?$/s.exec(text);
  const host = match === null ? undefined : parseHost(match[1]!);
  if (match === null || host === undefined) return undefined;
  const port = match[2] === undefined ? defaultPort : parsePort(match[2]);
  return port === undefined ? undefined : { host, port };
}

/** A port from 1 to 65535 in plain digits. */
function parsePort(text: string): number | undefined {
  if (!/^[1-9]\d{0,4}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 ? port : undefined;
}

/** The name or the address. */
export function hostText(host: Host): string {
  return host.kind === "name" ? host.name : host.address;
}

/** As it stands in a URL or a Host header; the scheme's own port is left out where it is given. */
export function formatAuthority({ host, port }: Authority, ownPort?: number): string {
  const text = hostText(host);
  const bracketed = text.includes(":") ? `[${text}]` : text;
  return port === ownPort ? bracketed : `${bracketed}:${port}`;
}

function addressOf(text: string): Host | undefined {
  const address = canonicalAddress(text);
  return address === undefined ? undefined : { kind: "address", address };
}
