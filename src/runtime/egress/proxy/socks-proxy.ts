import type { Duplex } from "node:stream";
import { canonicalAddress } from "../rules/addresses.js";
import { refuseHost, shown } from "../rules/decide.js";
import { type Authority, parseHost } from "../rules/host.js";
import type { RuleSets } from "../rules/rules.js";
import { EgressAttempt, type Ledger } from "./egress-attempt.js";
import type { EgressLimits } from "./limits.js";
import { peek } from "./peek.js";

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const NO_ACCEPTABLE_METHOD = 0xff;
const COMMAND_CONNECT = 1;

/** Answers to a request, by RFC 1928. */
export const SocksReply = {
  succeeded: 0,
  generalFailure: 1,
  notAllowed: 2,
  networkUnreachable: 3,
  hostUnreachable: 4,
  connectionRefused: 5,
  commandNotSupported: 7,
  addressTypeNotSupported: 8,
} as const;

/** What a client asks for: the host as it wrote it, or the reply that ends it. */
export type SocksRequest =
  | { readonly kind: "connect"; readonly host: string; readonly port: number }
  | { readonly kind: "refuse"; readonly reply: number };

interface Read<T> {
  readonly value: T;
  readonly used: number;
}

/** The method to answer a greeting with. Undefined: it is not all there yet. */
export function readGreeting(bytes: Buffer): Read<number> | undefined {
  if (bytes[0] !== undefined && bytes[0] !== VERSION)
    return { value: NO_ACCEPTABLE_METHOD, used: bytes.length };
  const count = bytes[1];
  if (count === undefined || bytes.length < 2 + count) return undefined;
  const isOffered = bytes.subarray(2, 2 + count).includes(NO_AUTHENTICATION);
  return { value: isOffered ? NO_AUTHENTICATION : NO_ACCEPTABLE_METHOD, used: 2 + count };
}

/** Reads a request. Undefined: it is not all there yet. */
export function readSocksRequest(bytes: Buffer): Read<SocksRequest> | undefined {
  const refuse = (reply: number): Read<SocksRequest> => ({
    value: { kind: "refuse", reply },
    used: bytes.length,
  });
  const [version, command, reserved, type, first] = bytes;
  if (version !== undefined && version !== VERSION) return refuse(SocksReply.generalFailure);
  if (type === undefined) return undefined;
  if (reserved !== 0) return refuse(SocksReply.generalFailure);
  const start = type === 3 ? 5 : 4;
  const length = type === 1 ? 4 : type === 4 ? 16 : type === 3 ? first : -1;
  if (length === -1) return refuse(SocksReply.addressTypeNotSupported);
  if (length === undefined || bytes.length < start + length + 2) return undefined;
  if (command !== COMMAND_CONNECT) return refuse(SocksReply.commandNotSupported);
  const address = bytes.subarray(start, start + length);
  const port = bytes.readUInt16BE(start + length);
  const host = type === 3 ? address.toString("latin1") : (canonicalAddress(addressText(address)) ?? "");
  return { value: { kind: "connect", host, port }, used: start + length + 2 };
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  return Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16)).join(":");
}

/** A reply with the given code; the address it comes from is hidden from programs inside. */
export function socksReply(code: number): Buffer {
  return Buffer.from([VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]);
}

/** The reply for a connection that could not be made. */
export function socksReplyCode(code: string | undefined): number {
  if (code === "ECONNREFUSED") return SocksReply.connectionRefused;
  if (code === "ENETUNREACH") return SocksReply.networkUnreachable;
  if (code === "EHOSTUNREACH" || code === "ETIMEDOUT") return SocksReply.hostUnreachable;
  return SocksReply.generalFailure;
}

export interface SocksProxyOptions {
  readonly limits: EgressLimits;
  readonly ledger: Ledger;
  readonly rules: () => RuleSets;
  /** Takes a client over that asked for a tunnel; what it sent ahead is in its stream again. */
  readonly tunnel: (client: Duplex, authority: Authority) => void;
}

/** Speaks SOCKS 5 with a program inside until it is clear where it wants to go. */
export async function serveSocks(client: Duplex, options: SocksProxyOptions): Promise<void> {
  const { limits, ledger, rules } = options;
  const wait = { maxBytes: 512, timeoutMs: limits.headMs };
  const method = await peek(client, { ...wait, look: readGreeting });
  if (method === undefined) return void client.destroy();
  const greeting = Buffer.from([VERSION, method]);
  if (method !== NO_AUTHENTICATION) return end(client, greeting);
  client.write(greeting);
  const request = await peek(client, { ...wait, look: readSocksRequest });
  if (request === undefined) return void client.destroy();
  if (request.kind === "refuse") return end(client, socksReply(request.reply));
  const host = parseHost(request.host);
  if (host === undefined || request.port === 0) {
    const attempt = new EgressAttempt(ledger, {
      via: "socks",
      host: shown(request.host),
      port: request.port,
    });
    attempt.deny(refuseHost(rules(), request.host));
    return end(client, socksReply(SocksReply.notAllowed));
  }
  options.tunnel(client, { host, port: request.port });
}

function end(client: Duplex, last: Buffer): void {
  client.end(last, () => client.destroy());
}
