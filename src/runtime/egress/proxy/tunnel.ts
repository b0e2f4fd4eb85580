import { METHODS } from "node:http";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { decideHost, shown } from "../rules/decide.js";
import { type Authority, hostText, parseHost } from "../rules/host.js";
import type { EgressDecision, RuleSets } from "../rules/rules.js";
import { type EdgeSecrets, SecretLeak } from "../secrets/edge-secrets.js";
import { looksLikeTls, MAX_CLIENT_HELLO_BYTES, readClientHello } from "./client-hello.js";
import { type Connections, EgressRefused, type Route, Unreachable } from "./connections.js";
import { CLOSED_INSIDE, EgressAttempt, type Ledger } from "./egress-attempt.js";
import type { EgressLimits } from "./limits.js";
import { peek } from "./peek.js";
import { lingerThenDestroy, relay } from "./relay.js";
import type { Scope } from "./request-target.js";

/** What the client of a tunnel hears about it, in its own protocol. */
export interface TunnelAnswers {
  readonly accepted: () => Buffer;
  readonly denied: (verdict: EgressDecision) => Buffer;
  readonly failed: (trouble: Unreachable) => Buffer;
}

export interface TunnelOptions {
  readonly limits: EgressLimits;
  readonly connections: Connections;
  readonly ledger: Ledger;
  readonly secrets: EdgeSecrets | undefined;
  readonly rules: () => RuleSets;
  /** Serves a client whose tunnel turned out to carry HTTP. */
  readonly serveHttp: (client: Duplex, scope: Scope, ready: Route) => void;
}

export interface TunnelRequest {
  readonly via: "connect" | "socks";
  readonly client: Duplex;
  readonly authority: Authority;
  readonly answers: TunnelAnswers;
}

/** The first bytes of a tunnel: TLS with the name it asks for, HTTP, or something else. */
type Sniffed =
  | { readonly kind: "tls"; readonly serverName: string | undefined }
  | { readonly kind: "http" }
  | { readonly kind: "other" }
  | { readonly kind: "refuse"; readonly why: string };

/** The ports on which nothing but TLS and HTTP passes. */
const WEB_PORTS: readonly number[] = [80, 443];
const MAX_REQUEST_LINE = 16 * 1024;
const METHOD = new RegExp(`^(?:${METHODS.join("|")}|PRI) `);
const LONGEST_METHOD = Math.max(...METHODS.map((method) => method.length)) + 1;
/** A fatal TLS alert: access denied. */
const TLS_ACCESS_DENIED = Buffer.from([21, 3, 1, 0, 2, 2, 49]);

/** Connects a client to a host, and finds out what they speak before anything of the client gets there. */
export async function openTunnel(request: TunnelRequest, options: TunnelOptions): Promise<void> {
  const { client, authority, answers, via } = request;
  const { host, port } = authority;
  const attempt = new EgressAttempt(options.ledger, { via, host: hostText(host), port });
  const refuse = (verdict: EgressDecision) => {
    attempt.deny(verdict);
    end(client, answers.denied(verdict));
  };
  const verdict = decideHost(options.rules(), host, port);
  if (!verdict.allowed) return refuse(verdict);
  const abort = new AbortController();
  const onClose = () => abort.abort();
  client.once("close", onClose);
  let route: Route;
  try {
    route = await options.connections.reach(authority, abort.signal);
  } catch (error) {
    if (error instanceof EgressRefused) return refuse(error.verdict);
    const trouble = error instanceof Unreachable ? error : new Unreachable(502, "the connection failed");
    attempt.fail(abort.signal.aborted ? CLOSED_INSIDE : trouble.message);
    return end(client, answers.failed(trouble));
  }
  client.off("close", onClose);
  attempt.takes(route);
  attempt.allow(
    verdict,
    (rules) => route.decide(rules),
    () => {
      client.destroy();
      route.socket.destroy();
    },
  );
  if (client.destroyed) {
    route.socket.destroy();
    return attempt.fail(CLOSED_INSIDE);
  }
  client.write(answers.accepted());
  await passThrough(request, route, attempt, options);
}

async function passThrough(
  { client, authority }: TunnelRequest,
  route: Route,
  attempt: EgressAttempt,
  options: TunnelOptions,
): Promise<void> {
  const { host, port } = authority;
  const { limits, secrets, rules } = options;
  const isWeb = WEB_PORTS.includes(port);
  const terminates = host.kind === "name" && secrets?.terminates(host.name) === true;
  const hostClosed = () => client.destroy();
  const idle = () => route.socket.destroy();
  route.socket.setTimeout(limits.idleMs, idle);
  // In other protocols the host speaks first.
  const speaksFirst = !isWeb && !terminates;
  if (speaksFirst) route.socket.pipe(client);
  route.socket.once("close", hostClosed);
  const sniffed = await peek(client, {
    look: (bytes) => look(bytes, isWeb),
    maxBytes: MAX_REQUEST_LINE + 1,
    timeoutMs: limits.headMs,
    fromFirstByte: !isWeb,
  });
  route.socket.off("close", hostClosed).off("timeout", idle);
  const refuse = (why: string, last?: Buffer) => {
    attempt.deny({ allowed: false, rule: "built in", why });
    route.socket.unpipe(client);
    route.socket.destroy();
    end(client, last);
  };
  if (sniffed === undefined || client.destroyed || route.socket.destroyed) {
    const isIncomplete = client.readableEnded && speaksFirst && !route.socket.destroyed;
    if (isIncomplete) return carry(client, route, attempt, options);
    client.destroy();
    route.socket.destroy();
    return attempt.isOver ? undefined : attempt.fail("the client sent nothing readable in time");
  }
  if (sniffed.kind === "refuse") return refuse(sniffed.why, TLS_ACCESS_DENIED);
  if (sniffed.kind === "other" && isWeb) {
    return refuse(`only HTTP and TLS may pass to port ${port} of ${hostText(host)}`);
  }
  if (sniffed.kind === "http" && route.socket.bytesRead === 0) {
    route.socket.unpipe(client);
    attempt.forget();
    return options.serveHttp(client, { kind: "origin", authority, secure: false }, route);
  }
  if (sniffed.kind === "tls") {
    const why = mismatch(authority, sniffed.serverName);
    if (why !== undefined) return refuse(why, TLS_ACCESS_DENIED);
    if (terminates) return terminate(client, authority, route, attempt, options);
  }
  const verdict = decideHost(rules(), host, port, { opaque: true });
  if (!verdict.allowed) {
    attempt.deny(verdict);
    route.socket.unpipe(client);
    route.socket.destroy();
    return end(client, sniffed.kind === "tls" ? TLS_ACCESS_DENIED : undefined);
  }
  route.opaque = true;
  carry(client, route, attempt, options);
}

function carry(client: Duplex, route: Route, attempt: EgressAttempt, options: TunnelOptions): void {
  const { connections, limits, secrets } = options;
  route.socket.unpipe(client);
  relay(client, route.socket, {
    connections,
    idleMs: limits.idleMs,
    outward: secrets?.guard(),
    over: (error) => {
      if (error instanceof SecretLeak) {
        attempt.deny({ allowed: false, rule: "secrets", why: error.message }, error.secrets);
      } else if (error instanceof Unreachable) attempt.fail(error.message);
      else attempt.finish();
    },
  });
}

/** Speaks TLS with the client in the host's place, and HTTP inside. */
async function terminate(
  client: Duplex,
  authority: Authority,
  route: Route,
  attempt: EgressAttempt,
  { limits, secrets, serveHttp }: TunnelOptions,
): Promise<void> {
  const fail = (why: string) => {
    attempt.fail(why);
    route.socket.destroy();
    client.destroy();
  };
  let stream: TLSSocket;
  try {
    const secureContext = await secrets!.secureContext(hostText(authority.host));
    stream = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: ["http/1.1"] });
  } catch {
    return fail("there is no certificate for the connection");
  }
  const timer = setTimeout(() => fail("the TLS handshake took too long"), limits.headMs);
  stream.on("error", (error: NodeJS.ErrnoException) => {
    clearTimeout(timer);
    fail(`the TLS handshake with the program inside failed (${error.code ?? error.message})`);
  });
  stream.once("close", () => {
    clearTimeout(timer);
    fail(CLOSED_INSIDE);
  });
  stream.once("secure", () => {
    clearTimeout(timer);
    attempt.forget();
    serveHttp(stream, { kind: "origin", authority, secure: true }, route);
  });
}

function look(bytes: Buffer, isWeb: boolean): { value: Sniffed; used: 0 } | undefined {
  const value = sniff(bytes, isWeb);
  return value === undefined ? undefined : { value, used: 0 };
}

/** What a tunnel carries, by its first bytes. Undefined: more are needed. */
export function sniff(given: Buffer, isWeb: boolean): Sniffed | undefined {
  // Servers skip line ends in front of a request, and so has to who looks for one.
  const start = given.findIndex((byte) => byte !== 0x0d && byte !== 0x0a);
  if (start === -1 && given.length < MAX_REQUEST_LINE) return undefined;
  return sniffContent(given.subarray(Math.max(start, 0)), isWeb);
}

function sniffContent(bytes: Buffer, isWeb: boolean): Sniffed | undefined {
  if (looksLikeTls(bytes)) {
    const hello = readClientHello(bytes);
    if (hello.kind === "incomplete") return bytes.length > MAX_CLIENT_HELLO_BYTES ? refusal() : undefined;
    if (hello.kind === "invalid") return { kind: "refuse", why: hello.why };
    return { kind: "tls", serverName: hello.serverName };
  }
  const start = bytes.toString("latin1", 0, LONGEST_METHOD);
  // The parser decides what a request is; on these ports nothing else is let through.
  if (isWeb) return /^[\r\nA-Z]/.test(start) ? { kind: "http" } : { kind: "other" };
  if (!METHOD.test(start)) {
    const maybe = bytes.length < LONGEST_METHOD && METHODS.some((method) => `${method} `.startsWith(start));
    return maybe ? undefined : { kind: "other" };
  }
  const end = bytes.indexOf("\n");
  if (end === -1) return bytes.length > MAX_REQUEST_LINE ? { kind: "http" } : undefined;
  return / HTTP\/\d\.\d\r?$/.test(bytes.toString("latin1", 0, end)) ? { kind: "http" } : { kind: "other" };
}

function refusal(): Sniffed {
  return { kind: "refuse", why: "the TLS ClientHello is too long" };
}

/** Why the name inside TLS is not the one that was asked for. */
function mismatch({ host }: Authority, serverName: string | undefined): string | undefined {
  if (serverName === undefined) {
    return host.kind === "address"
      ? undefined
      : `TLS to ${host.name} has to name it (SNI), and names no host`;
  }
  const named = parseHost(serverName);
  if (named !== undefined && hostText(named) === hostText(host)) return undefined;
  return `TLS in a tunnel to ${hostText(host)} names ${shown(serverName)} (SNI)`;
}

function end(client: Duplex, last?: Buffer): void {
  if (client.destroyed) return;
  if (last === undefined) client.end();
  else client.end(last);
  client.resume();
  lingerThenDestroy(client, 1000);
}
