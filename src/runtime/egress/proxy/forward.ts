import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { decideRequest } from "../rules/decide.js";
import { formatAuthority, hostText } from "../rules/host.js";
import type { EgressDecision, RuleSets } from "../rules/rules.js";
import { type HttpHeader, type PreparedRequest, SecretLeak } from "../secrets/edge-secrets.js";
import { EgressRefused, type Route, Unreachable } from "./connections.js";
import { CLOSED_INSIDE, type EgressAttempt } from "./egress-attempt.js";
import { answer } from "./error-response.js";
import type { Link, Sender } from "./link.js";
import { relay } from "./relay.js";
import { endToEnd, hasBody, headersOf } from "./request-target.js";

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
  const { request, response, link, path, attempt } = forwarded;
  const { host, port } = link.authority;
  const headers = endToEnd(headersOf(request.rawHeaders)).filter(
    ([name]) => !/^(?:host|expect)$/i.test(name),
  );
  const asked = { host: hostText(host), port, secure: link.secure, method: methodOf(request), path, headers };
  const prepared = sender.secrets?.request(asked) ?? { ok: true, path, headers, used: [] };
  if (!prepared.ok) {
    attempt.deny({ allowed: false, rule: "secrets", why: prepared.why }, prepared.secrets);
    answer(response, 403, prepared.why, { denied: true });
    return Promise.resolve();
  }
  attempt.uses(prepared.used);
  return new Promise((resolve) => new Exchange(sender, forwarded, prepared, resolve).start());
}

/** One request that is on its way to a host, and its answer. */
class Exchange {
  readonly #outgoing: ClientRequest;
  readonly #hasBody: boolean;
  /** What the request is written to. */
  #stream: Duplex | undefined;
  #isAnswered = false;
  #isSent = false;

  constructor(
    private readonly sender: Sender,
    private readonly forwarded: Forwarded,
    private readonly prepared: Extract<PreparedRequest, { ok: true }>,
    private readonly resolve: () => void,
  ) {
    const { request, link, upgrade } = forwarded;
    const { "content-length": length, "transfer-encoding": coding } = request.headers;
    this.#hasBody = length !== undefined || coding !== undefined;
    this.#outgoing = link.request({
      method: methodOf(request),
      path: prepared.path,
      headers: [
        ["host", formatAuthority(link.authority, link.secure ? 443 : 80)] as HttpHeader,
        ...prepared.headers,
        ...framing(prepared.headers, this.#hasBody, upgrade !== undefined),
      ].flat(),
    });
  }

  start(): void {
    const { request, response, link, path, attempt, verdict, upgrade } = this.forwarded;
    const { host, port } = link.authority;
    const scheme = link.secure ? "https" : "http";
    const asked = { host, port, method: methodOf(request), path, scheme, hasBody: hasBody(request) } as const;
    attempt.allow(
      verdict,
      (rules: RuleSets) => decideRequest(rules, asked),
      () => {
        this.#outgoing.destroy();
        response.destroy();
      },
    );
    this.#outgoing.once("socket", (socket) => this.#take(socket));
    this.#outgoing.once("finish", () => {
      this.#isSent = true;
      if (!this.#isAnswered) this.#route?.socket.setTimeout(this.sender.limits.responseMs);
      this.#settle();
    });
    this.#outgoing.on("error", this.#fail);
    this.#outgoing.once("close", this.#settle);
    this.#outgoing.once(
      "response",
      this.#orFail((incoming) => this.#passBack(incoming)),
    );
    if (upgrade !== undefined)
      this.#outgoing.once(
        "upgrade",
        this.#orFail((incoming: IncomingMessage, socket: Socket, head: Buffer) =>
          this.#switch(upgrade, incoming, socket, head),
        ),
      );
    response.once("finish", this.#settle);
    response.once("close", () => {
      if (!response.writableFinished) this.#onGone();
    });
    // An answer that is over no longer hears about it.
    request.socket.once("close", this.#onGone);
    this.#sendBody();
    if (response.destroyed || response.socket?.destroyed) this.#fail(new Error(CLOSED_INSIDE));
  }

  get #host(): string {
    return hostText(this.forwarded.link.authority.host);
  }

  get #route(): Route | undefined {
    return this.#stream === undefined ? undefined : this.forwarded.link.routeOf(this.#stream);
  }

  #take(socket: Duplex): void {
    const { limits } = this.sender;
    this.#stream = socket;
    // One that waited in a tunnel was stopped there.
    if (socket.isPaused()) socket.resume();
    const route = this.#route;
    if (route === undefined) return;
    this.forwarded.attempt.takes(route);
    route.socket.setTimeout(this.#outgoing.writableFinished ? limits.responseMs : limits.idleMs);
    route.socket.once("timeout", this.#onTimeout);
  }

  #sendBody(): void {
    const { request } = this.forwarded;
    this.sender.connections.meter(request);
    if (!this.#hasBody) {
      this.#outgoing.end();
      return;
    }
    // The host hears about a body before its first byte.
    this.#outgoing.flushHeaders();
    const { body } = this.prepared;
    if (body === undefined) request.pipe(this.#outgoing);
    else request.pipe(body.once("error", this.#fail)).pipe(this.#outgoing);
  }

  #passBack(incoming: IncomingMessage): void {
    const { response } = this.forwarded;
    const { response: scrubbed } = this.prepared;
    this.#isAnswered = true;
    // No proxy removes another coding, and it would hide the body from us.
    const coding = incoming.headers["transfer-encoding"];
    if (coding !== undefined && coding.toLowerCase() !== "chunked") {
      this.#fail(new Unreachable(502, `${this.#host} answered with a transfer encoding besides chunked`));
      return;
    }
    // Node's client no longer listens for it once the answer is there, and the rest of the body would wait forever.
    if (!this.#isSent) this.#stream?.on("drain", this.#onDrain);
    this.#route?.socket.setTimeout(this.sender.limits.idleMs);
    this.sender.connections.meter(incoming);
    // First the headers: they say how the body is encoded.
    const headers = this.#headersOf(incoming);
    const body = scrubbed?.body();
    response.sendDate = false;
    const phrase = scrubbed?.text(incoming.statusMessage ?? "") ?? incoming.statusMessage ?? "";
    const message = /^[\t\x20-\x7e]*$/.test(phrase) ? phrase : "";
    response.writeHead(incoming.statusCode ?? 502, message, headers.flat() as string[]);
    incoming.once("error", this.#fail);
    incoming.once("aborted", () => this.#fail(new Unreachable(502, `${this.#host} broke off its answer`)));
    if (body === undefined) incoming.pipe(response);
    else incoming.pipe(body.once("error", this.#fail)).pipe(response);
  }

  /** The connection goes on as a WebSocket. */
  #switch(client: Duplex, incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    const { link, response, attempt } = this.forwarded;
    const { connections, limits, secrets } = this.sender;
    const route = link.routeOf(socket);
    if (route === undefined) {
      this.#fail(new Unreachable(502, "the upgrade has no connection"));
      return;
    }
    route.socket.off("timeout", this.#onTimeout);
    const headers = this.#headersOf(incoming).map(([name, value]) => `${name}: ${value}\r\n`);
    const inward = this.prepared.response?.body();
    response.detachSocket(client as never);
    client.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n${headers.join("")}\r\n`,
      "latin1",
    );
    if (head.length > 0) socket.unshift(head);
    relay(client, socket, {
      connections,
      idleMs: limits.idleMs,
      outward: secrets?.guard(),
      inward,
      over: (error) => {
        if (error instanceof SecretLeak)
          attempt.deny({ allowed: false, rule: "secrets", why: error.message }, error.secrets);
        else if (error instanceof Unreachable) attempt.fail(error.message);
        else attempt.finish();
        this.resolve();
      },
    });
  }

  /** The headers of an answer, as the sandbox may see them. */
  #headersOf(incoming: IncomingMessage): readonly HttpHeader[] {
    const received = endToEnd(headersOf(incoming.rawHeaders));
    return this.prepared.response?.headers(received) ?? received;
  }

  /** What a host sends must not end this process, whatever is made of it. */
  #orFail<Args extends unknown[]>(handle: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      try {
        handle(...args);
      } catch (error) {
        this.#fail(error as Error);
      }
    };
  }

  /** A host may answer before it has the whole body, and then take the rest or not. */
  readonly #settle = (): void => {
    const { attempt, response } = this.forwarded;
    if (attempt.isOver || !response.writableFinished) return;
    if (this.#isSent || this.#outgoing.writableFinished) {
      attempt.finish();
      this.#end();
    } else if (this.#outgoing.destroyed) this.#giveUpBody("closed before it had taken the whole body");
  };

  #giveUpBody(why: string): void {
    this.forwarded.attempt.fail(`${this.#host} answered, and ${why}`);
    this.#outgoing.destroy();
    this.#end();
  }

  readonly #fail = (error: Error): void => {
    const { attempt, response } = this.forwarded;
    if (attempt.isOver) return;
    if (response.writableFinished && !(error instanceof SecretLeak)) {
      this.#settle();
      return;
    }
    this.#outgoing.destroy();
    this.#end();
    if (error instanceof EgressRefused) {
      attempt.deny(error.verdict);
      answer(response, 403, error.verdict.why, { denied: true });
    } else if (error instanceof SecretLeak) {
      attempt.deny({ allowed: false, rule: "secrets", why: error.message }, error.secrets);
      answer(response, 403, error.message, { denied: true });
    } else this.#answerUnreachable(error);
  };

  #answerUnreachable(error: Error): void {
    const { attempt, response } = this.forwarded;
    const isKnown = error instanceof Unreachable;
    const why = isKnown ? error.message : `${this.#host}: ${error.message}`;
    attempt.fail(why);
    // A kept connection that the host closed just now: to the client it is as if it had been its own.
    if (this.#outgoing.reusedSocket && !response.headersSent && !isKnown) response.destroy();
    else answer(response, isKnown ? error.status : 502, why);
  }

  readonly #onTimeout = (): void => {
    if (this.forwarded.response.writableFinished)
      this.#giveUpBody(`took no more of the body for ${this.sender.limits.idleMs / 1000} s`);
    else this.#fail(new Unreachable(504, `${this.#host} did not answer in time`));
  };

  readonly #onDrain = (): void => {
    this.#outgoing.emit("drain");
  };

  readonly #onGone = (): void => {
    const { request, response, attempt } = this.forwarded;
    // It has its answer and gave its whole body: the rest is on its way.
    if (request.complete && response.writableFinished) return;
    if (!attempt.isOver) attempt.fail(CLOSED_INSIDE);
    this.#outgoing.destroy();
    this.#end();
  };

  #end(): void {
    this.forwarded.request.socket.off("close", this.#onGone);
    this.#stream?.off("drain", this.#onDrain);
    this.#route?.socket.setTimeout(0).off("timeout", this.#onTimeout);
    this.resolve();
  }
}

function methodOf({ method = "GET" }: IncomingMessage): string {
  return method;
}

/** How the length of the message is told, and what becomes of the connection. */
function framing(headers: readonly HttpHeader[], hasBody: boolean, isUpgrade: boolean): HttpHeader[] {
  const hasLength = headers.some(([name]) => name.toLowerCase() === "content-length");
  return [
    ...(hasBody && !hasLength ? [["transfer-encoding", "chunked"] as HttpHeader] : []),
    ...(isUpgrade ? [["connection", "Upgrade"] as HttpHeader, ["upgrade", "websocket"] as HttpHeader] : []),
  ];
}
