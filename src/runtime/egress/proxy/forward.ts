import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type SecureContext, connect as tlsConnect } from "node:tls";
import { decideRequest } from "../rules/decide.js";
import { type Authority, formatAuthority, hostText } from "../rules/host.js";
import type { EgressDecision, RuleSets } from "../rules/rules.js";
import { type EdgeSecrets, type HttpHeader, SecretLeak } from "../secrets/edge-secrets.js";
import { type Connections, EgressRefused, type Route, Unreachable } from "./connections.js";
import { CLOSED_INSIDE, type EgressAttempt } from "./egress-attempt.js";
import { answer } from "./error-response.js";
import type { EgressLimits } from "./limits.js";
import { relay } from "./relay.js";
import { endToEnd, headersOf } from "./request-target.js";

/** What forwarding needs to know about the sandbox. */
export interface Sender {
  readonly limits: EgressLimits;
  readonly connections: Connections;
  readonly secrets: EdgeSecrets | undefined;
  /** What hosts' certificates are verified with. */
  readonly trust: () => SecureContext;
}

/** A connection to one host that a client's requests share, one after the other. */
export class Link {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  /** By the stream that requests are written to. */
  readonly #routes = new WeakMap<Duplex, Route>();
  readonly #abort = new AbortController();
  readonly #sender: Sender;
  #ready: Route | undefined;

  constructor(
    sender: Sender,
    readonly authority: Authority,
    readonly secure: boolean,
    /** A connection that is there already. */
    ready?: Route,
  ) {
    this.#sender = sender;
    this.#ready = ready;
    // The types know no callback, which is how a connection is made that has to be waited for.
    (this.#agent as { createConnection: unknown }).createConnection = (
      _options: unknown,
      made: (error: Error | null, stream?: Duplex) => void,
    ) => {
      this.#connect().then(
        (stream) => made(null, stream),
        (error) => made(error),
      );
    };
  }

  request(options: { method: string; path: string; headers: readonly string[] }): ClientRequest {
    return httpRequest({
      agent: this.#agent,
      ...options,
      // The agent would look it up for its own books; nothing is resolved by it.
      host: "egress.invalid",
      maxHeaderSize: Math.max(this.#sender.limits.maxHeaderBytes, 16 * 1024),
      insecureHTTPParser: false,
      setHost: false,
    });
  }

  routeOf(stream: Duplex): Route | undefined {
    return this.#routes.get(stream);
  }

  close(): void {
    this.#abort.abort();
    this.#agent.destroy();
    this.#ready?.socket.destroy();
  }

  async #connect(): Promise<Duplex> {
    const ready = this.#ready;
    this.#ready = undefined;
    const route =
      ready !== undefined && !ready.socket.destroyed && !ready.socket.readableEnded
        ? ready
        : await this.#sender.connections.reach(this.authority, this.#abort.signal);
    const stream = this.secure ? await this.#secure(route) : route.socket;
    this.#routes.set(stream, route);
    return stream;
  }

  #secure(route: Route): Promise<Duplex> {
    const { host } = this.authority;
    const { connectMs } = this.#sender.limits;
    return new Promise((resolve, reject) => {
      const stream = tlsConnect({
        socket: route.socket,
        secureContext: this.#sender.trust(),
        // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
        rejectUnauthorized: true,
        ALPNProtocols: ["http/1.1"],
        ...(host.kind === "name" ? { servername: host.name } : { host: host.address }),
      });
      const fail = (status: 502 | 504, why: string) => {
        stream.destroy();
        reject(new Unreachable(status, `${hostText(host)}: ${why}`));
      };
      const timer = setTimeout(() => fail(504, "the TLS handshake took too long"), connectMs);
      stream.on("error", (error: NodeJS.ErrnoException) => fail(502, certificateTrouble(error)));
      stream.once("close", () => fail(502, "closed during the TLS handshake"));
      stream.once("secureConnect", () => {
        clearTimeout(timer);
        resolve(stream);
      });
      stream.once("close", () => clearTimeout(timer));
    });
  }
}

function certificateTrouble(error: NodeJS.ErrnoException): string {
  if (error.code === "CERT_HAS_EXPIRED") return "its certificate has expired";
  if (error.code === "ERR_TLS_CERT_ALTNAME_INVALID") return "its certificate is for another name";
  if (/CERT|SIGNATURE|ISSUER|SELF_SIGNED/.test(error.code ?? "")) {
    return `its certificate is not trusted (${error.code})`;
  }
  return `TLS failed (${error.code ?? error.message})`;
}

export interface Forwarded {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly link: Link;
  readonly path: string;
  readonly attempt: EgressAttempt;
  readonly verdict: EgressDecision;
  /** The client's own stream, for an upgrade: what it sent behind the request is in it again. */
  readonly upgrade?: Duplex;
}

/** Sends one request that was allowed, and its answer back. Resolves when both are over, whatever becomes of them. */
export function forward(sender: Sender, forwarded: Forwarded): Promise<void> {
  const { request, response, link, path, attempt, verdict, upgrade } = forwarded;
  const { limits, connections, secrets } = sender;
  const { host, port } = link.authority;
  const method = request.method ?? "GET";
  const hasBody =
    request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined;
  const headers = endToEnd(headersOf(request.rawHeaders)).filter(
    ([name]) => !/^(?:host|expect)$/i.test(name),
  );
  const prepared = secrets?.request({
    host: hostText(host),
    port,
    secure: link.secure,
    method,
    path,
    headers,
  }) ?? {
    ok: true,
    path,
    headers,
    used: [],
  };
  if (!prepared.ok) {
    attempt.deny({ allowed: false, rule: "secrets", why: prepared.why }, prepared.secrets);
    answer(response, 403, prepared.why, { denied: true });
    return Promise.resolve();
  }
  attempt.uses(prepared.used);

  return new Promise((resolve) => {
    const outgoing = link.request({
      method,
      path: prepared.path,
      headers: [
        ["host", formatAuthority(link.authority, link.secure ? 443 : 80)] as HttpHeader,
        ...prepared.headers,
        ...framing(prepared.headers, hasBody, upgrade !== undefined),
      ].flat(),
    });
    let stream: Duplex | undefined;
    let isAnswered = false;
    let isSent = false;
    const onTimeout = () =>
      response.writableFinished
        ? giveUpBody(`took no more of the body for ${limits.idleMs / 1000} s`)
        : fail(new Unreachable(504, `${hostText(host)} did not answer in time`));
    const over = () => {
      request.socket.off("close", onGone);
      stream?.off("drain", onDrain);
      route()?.socket.setTimeout(0).off("timeout", onTimeout);
      resolve();
    };
    const route = () => (stream === undefined ? undefined : link.routeOf(stream));
    const onDrain = () => void outgoing.emit("drain");
    const onGone = () => {
      // It has its answer and gave its whole body: the rest is on its way.
      if (request.complete && response.writableFinished) return;
      if (!attempt.isOver) attempt.fail(CLOSED_INSIDE);
      outgoing.destroy();
      over();
    };
    /** A host may answer before it has the whole body, and then take the rest or not. */
    const settle = () => {
      if (attempt.isOver || !response.writableFinished) return;
      if (isSent || outgoing.writableFinished) {
        attempt.finish();
        over();
      } else if (outgoing.destroyed) giveUpBody("closed before it had taken the whole body");
    };
    const giveUpBody = (why: string) => {
      attempt.fail(`${hostText(host)} answered, and ${why}`);
      outgoing.destroy();
      over();
    };
    const fail = (error: Error) => {
      if (attempt.isOver) return;
      if (response.writableFinished && !(error instanceof SecretLeak)) return settle();
      outgoing.destroy();
      over();
      if (error instanceof EgressRefused) {
        attempt.deny(error.verdict);
        answer(response, 403, error.verdict.why, { denied: true });
      } else if (error instanceof SecretLeak) {
        attempt.deny({ allowed: false, rule: "secrets", why: error.message }, error.secrets);
        answer(response, 403, error.message, { denied: true });
      } else {
        const [status, why] =
          error instanceof Unreachable
            ? [error.status, error.message]
            : [502, `${hostText(host)}: ${error.message}`];
        attempt.fail(why);
        // A kept connection that the host closed just now: to the client it is as if it had been its own.
        if (outgoing.reusedSocket && !response.headersSent && !(error instanceof Unreachable))
          response.destroy();
        else answer(response, status, why);
      }
    };
    attempt.allow(
      verdict,
      (rules: RuleSets) =>
        decideRequest(rules, { host, port, method, path, scheme: link.secure ? "https" : "http" }),
      () => {
        outgoing.destroy();
        response.destroy();
      },
    );
    outgoing.once("socket", (socket) => {
      stream = socket;
      // One that waited in a tunnel was stopped there.
      if (socket.isPaused()) socket.resume();
      const taken = route();
      if (taken === undefined) return;
      attempt.takes(taken);
      taken.socket.setTimeout(outgoing.writableFinished ? limits.responseMs : limits.idleMs);
      taken.socket.once("timeout", onTimeout);
    });
    outgoing.once("finish", () => {
      isSent = true;
      if (!isAnswered) route()?.socket.setTimeout(limits.responseMs);
      settle();
    });
    outgoing.on("error", fail);
    outgoing.once("close", settle);
    /** What a host sends must not end this process, whatever is made of it. */
    const orFail =
      <Args extends unknown[]>(handle: (...args: Args) => void) =>
      (...args: Args) => {
        try {
          handle(...args);
        } catch (error) {
          fail(error as Error);
        }
      };
    const onResponse = (incoming: IncomingMessage) => {
      isAnswered = true;
      // No proxy removes another coding, and it would hide the body from us.
      const coding = incoming.headers["transfer-encoding"];
      if (coding !== undefined && coding.toLowerCase() !== "chunked") {
        return fail(
          new Unreachable(502, `${hostText(host)} answered with a transfer encoding besides chunked`),
        );
      }
      // Node's client no longer listens for it once the answer is there, and the rest of the body would wait forever.
      if (!isSent) stream?.on("drain", onDrain);
      route()?.socket.setTimeout(limits.idleMs);
      connections.meter(incoming);
      const received = endToEnd(headersOf(incoming.rawHeaders));
      const shownHeaders = prepared.response?.headers(received) ?? received;
      const body = prepared.response?.body();
      response.sendDate = false;
      const phrase = prepared.response?.text(incoming.statusMessage ?? "") ?? incoming.statusMessage ?? "";
      const message = /^[\t\x20-\x7e]*$/.test(phrase) ? phrase : "";
      response.writeHead(incoming.statusCode ?? 502, message, shownHeaders.flat() as string[]);
      incoming.once("error", (error) => fail(error));
      incoming.once("aborted", () => fail(new Unreachable(502, `${hostText(host)} broke off its answer`)));
      if (body === undefined) incoming.pipe(response);
      else incoming.pipe(body.once("error", fail)).pipe(response);
    };
    outgoing.once("response", orFail(onResponse));
    if (upgrade !== undefined) {
      const onUpgrade = (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
        const taken = link.routeOf(socket);
        if (taken === undefined) return fail(new Unreachable(502, "the upgrade has no connection"));
        taken.socket.off("timeout", onTimeout);
        const received = endToEnd(headersOf(incoming.rawHeaders));
        const shownHeaders = prepared.response?.headers(received) ?? received;
        const inward = prepared.response?.body();
        response.detachSocket(upgrade as never);
        upgrade.write(
          `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n${shownHeaders.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
          "latin1",
        );
        if (head.length > 0) socket.unshift(head);
        relay(upgrade, socket, {
          connections,
          idleMs: limits.idleMs,
          outward: secrets?.guard(),
          inward,
          over: (error) => {
            if (error instanceof SecretLeak)
              attempt.deny({ allowed: false, rule: "secrets", why: error.message }, error.secrets);
            else if (error instanceof Unreachable) attempt.fail(error.message);
            else attempt.finish();
            resolve();
          },
        });
      };
      outgoing.once("upgrade", orFail(onUpgrade));
    }
    response.once("finish", settle);
    response.once("close", () => {
      if (!response.writableFinished) onGone();
    });
    // An answer that is over no longer hears about it.
    request.socket.once("close", onGone);
    connections.meter(request);
    // The host hears about a body before its first byte.
    if (hasBody) outgoing.flushHeaders();
    if (!hasBody) outgoing.end();
    else if (prepared.body === undefined) request.pipe(outgoing);
    else request.pipe(prepared.body.once("error", fail)).pipe(outgoing);
    if (response.destroyed || response.socket?.destroyed) fail(new Error(CLOSED_INSIDE));
  });
}

/** How the length of the message is told, and what becomes of the connection. */
function framing(headers: readonly HttpHeader[], hasBody: boolean, isUpgrade: boolean): HttpHeader[] {
  const hasLength = headers.some(([name]) => name.toLowerCase() === "content-length");
  return [
    ...(hasBody && !hasLength ? [["transfer-encoding", "chunked"] as HttpHeader] : []),
    ...(isUpgrade ? [["connection", "Upgrade"] as HttpHeader, ["upgrade", "websocket"] as HttpHeader] : []),
  ];
}
