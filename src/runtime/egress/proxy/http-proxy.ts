import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { decideRequest, refuseHost, shown } from "../rules/decide.js";
import { type Authority, hostText, parseAuthority } from "../rules/host.js";
import type { RuleSets } from "../rules/rules.js";
import type { Route } from "./connections.js";
import { BUILT_IN, EgressAttempt, type EgressTarget, type Ledger, UNKNOWN_TARGET } from "./egress-attempt.js";
import { answer, rawAnswer } from "./error-response.js";
import { forward } from "./forward.js";
import { Link, type Sender } from "./link.js";
import { lingerThenDestroy } from "./relay.js";
import { headersOf, isSame, readTarget, type Scope } from "./request-target.js";

/** Requests that a client may send ahead of their answers. */
const MAX_PIPELINED = 16;
const LINGER_MS = 1000;

export interface HttpProxyOptions extends Sender {
  readonly ledger: Ledger;
  readonly rules: () => RuleSets;
  /** Takes a client over that asked for a tunnel; what it sent ahead is in its stream again. */
  readonly tunnel: (client: Duplex, authority: Authority) => void;
}

/** One connection of a client that speaks HTTP. */
interface Client {
  readonly stream: Duplex;
  readonly scope: Scope;
  link: Link | undefined;
  /** Ends when every request so far is over. */
  last: Promise<void>;
  pending: number;
  timer: NodeJS.Timeout | undefined;
  isInHead: boolean;
  headBytes: number;
  /** After our last word. */
  readonly linger: () => void;
}

/** Speaks HTTP with programs inside: each request is parsed strictly, checked and rewritten. */
export class HttpProxy {
  readonly #server: Server;
  readonly #clients = new WeakMap<Duplex, Client>();

  constructor(private readonly options: HttpProxyOptions) {
    this.#server = createServer({
      maxHeaderSize: options.limits.maxHeaderBytes,
      insecureHTTPParser: false,
      requireHostHeader: false,
      // These clocks only run for servers that listen: ours are in #awaitHead.
      keepAliveTimeout: 0,
      requestTimeout: 0,
      headersTimeout: 0,
    });
    this.#server
      .on("request", (request, response) => this.#enqueue(request, response))
      .on("checkContinue", (request, response) => {
        this.#enqueue(request, response, () => response.writeContinue());
      })
      .on("upgrade", (request, stream, head) => this.#upgrade(request, stream, head))
      .on("connect", (request, stream, head) => this.#connect(request, stream, head))
      .on("clientError", (error: NodeJS.ErrnoException, stream) => this.#complain(error, stream));
  }

  /** Serves a connection; `ready` is one to the host that is there already. */
  serve(stream: Duplex, scope: Scope, ready?: Route): void {
    const client: Client = {
      stream,
      scope,
      link:
        scope.kind === "origin" ? new Link(this.options, scope.authority, scope.secure, ready) : undefined,
      last: Promise.resolve(),
      pending: 0,
      timer: undefined,
      isInHead: true,
      headBytes: 0,
      linger: () => lingerThenDestroy(stream, LINGER_MS),
    };
    this.#clients.set(stream, client);
    stream.once("close", () => {
      clearTimeout(client.timer);
      void client.last.finally(() => client.link?.close());
    });
    stream.once("finish", client.linger);
    this.#await(client, "head");
    this.#server.emit("connection", stream);
    stream.on("data", this.#onData);
  }

  readonly #onData = (() => {
    const proxy = this;
    return function onData(this: Duplex, chunk: Buffer) {
      const client = proxy.#clients.get(this);
      if (client === undefined || client.pending > 0) return;
      if (!client.isInHead) proxy.#await(client, "head");
      // The parser has read it by now, and asks for more. It counts names and values, and not how many there are.
      client.headBytes += chunk.length;
      if (client.headBytes > proxy.options.limits.maxHeaderBytes) proxy.#complainAboutLength(this);
    };
  })();

  /** A head has to be there in time once it has begun; between requests a client may be silent for longer. */
  #await(client: Client, what: "head" | "next request" | "answer"): void {
    const { headMs, idleMs } = this.options.limits;
    clearTimeout(client.timer);
    client.isInHead = what === "head";
    client.headBytes = 0;
    if (what === "answer") return;
    client.timer = setTimeout(
      () => {
        const why = `the request did not arrive within ${headMs / 1000} s`;
        if (what === "head") this.#refuse(client.stream, 408, why);
        else client.stream.destroy();
      },
      what === "head" ? headMs : idleMs,
    );
  }

  #enqueue(request: IncomingMessage, response: ServerResponse, allowed?: () => void): void {
    const client = this.#clients.get(request.socket);
    if (client === undefined) return void response.destroy();
    if (++client.pending > MAX_PIPELINED) {
      client.stream.destroy();
      return;
    }
    this.#await(client, "answer");
    client.last = client.last
      .then(() => this.#answer(client, request, response, allowed))
      .catch(() => client.stream.destroy())
      .then(() => {
        if (--client.pending > 0 || client.stream.destroyed) return;
        if (request.complete) return this.#await(client, "next request");
        // The rest of an unwanted body is read until the connection ends; no request follows.
        this.#release(client);
        request.unpipe().resume();
        if (response.writableFinished) client.stream.end();
      });
  }

  async #answer(
    client: Client,
    request: IncomingMessage,
    response: ServerResponse,
    allowed?: () => void,
    upgrade?: Duplex,
  ): Promise<void> {
    // What is opened for a client that has left would never be closed.
    if (client.stream.destroyed) return;
    const { ledger, rules, connections } = this.options;
    const method = request.method ?? "";
    const target = readTarget(request, client.scope);
    if (!target.ok) {
      const scoped = client.scope.kind === "origin" ? client.scope.authority : undefined;
      const attempt = new EgressAttempt(ledger, {
        via: client.scope.kind === "origin" && client.scope.secure ? "https" : "http",
        host: scoped === undefined ? shown(target.raw) : hostText(scoped.host),
        port: scoped?.port ?? 0,
        method,
      });
      attempt.deny({ ...refuseHost(rules(), target.raw), rule: "built in", why: target.why });
      return answer(response, target.status, target.why, { denied: true });
    }
    const { authority, secure, path } = target;
    const { host, port } = authority;
    const scheme = secure ? "https" : "http";
    const attempt = new EgressAttempt(ledger, { via: scheme, host: hostText(host), port, method, path });
    const verdict = decideRequest(rules(), { host, port, method, path, scheme });
    if (!verdict.allowed) {
      attempt.deny(verdict);
      return answer(response, 403, verdict.why, { denied: true });
    }
    if (connections.isUsedUp) {
      const why = connections.usedUp;
      attempt.fail(why);
      return answer(response, 429, why);
    }
    allowed?.();
    const link = this.#linkTo(client, authority, secure);
    await forward(this.options, {
      request,
      response,
      link,
      path,
      attempt,
      verdict,
      ...(upgrade !== undefined && { upgrade }),
    });
  }

  #linkTo(client: Client, authority: Authority, secure: boolean): Link {
    const { link } = client;
    if (link !== undefined && link.secure === secure && isSame(link.authority, authority)) return link;
    link?.close();
    client.link = new Link(this.options, authority, secure);
    return client.link;
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const client = this.#clients.get(stream);
    if (client === undefined || client.pending > 0) return void stream.destroy();
    this.#release(client);
    const { upgrade, "content-length": length, "transfer-encoding": encoding } = request.headers;
    if (
      upgrade?.toLowerCase() !== "websocket" ||
      request.method !== "GET" ||
      length !== undefined ||
      encoding !== undefined
    ) {
      return this.#end(stream, rawAnswer(501, "no connection is upgraded but to a WebSocket"));
    }
    if (head.length > 0) stream.unshift(head);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(stream as never);
    response.once("finish", () => stream.end());
    this.#answer(client, request, response, undefined, stream).catch(() => stream.destroy());
  }

  #connect(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const client = this.#clients.get(stream);
    if (client === undefined || client.pending > 0) return void stream.destroy();
    this.#release(client);
    const refuse = (status: number, why: string) => {
      new EgressAttempt(this.options.ledger, {
        via: "connect",
        host: shown(request.url ?? ""),
        port: 0,
      }).deny({
        ...refuseHost(this.options.rules(), request.url ?? ""),
        why,
      });
      this.#end(stream, rawAnswer(status, why, { denied: true }));
    };
    if (client.scope.kind !== "proxy") return refuse(403, "there is no tunnel inside a tunnel");
    const authority = parseAuthority(request.url ?? "");
    if (authority === undefined) return refuse(403, refuseHost(this.options.rules(), request.url ?? "").why);
    for (const [name, value] of headersOf(request.rawHeaders)) {
      if (/^(?:content-length|transfer-encoding)$/i.test(name)) return refuse(400, "CONNECT has no body");
      if (name.toLowerCase() !== "host") continue;
      const told = parseAuthority(value, authority.port);
      if (told === undefined || !isSame(told, authority)) {
        return refuse(403, `the Host header is not for ${request.url}, where the tunnel goes`);
      }
    }
    client.link?.close();
    stream.off("finish", client.linger);
    if (head.length > 0) stream.unshift(head);
    this.options.tunnel(stream, authority);
  }

  /** What the client sends from now on is no request. */
  #release(client: Client): void {
    this.#await(client, "answer");
    client.stream.off("data", this.#onData);
    this.#clients.delete(client.stream);
  }

  #complainAboutLength(stream: Duplex): void {
    this.#refuse(stream, 431, `the headers are longer than ${this.options.limits.maxHeaderBytes} bytes`);
  }

  /** Not HTTP as everyone reads it: the connection has no next request that could be found. */
  #complain(error: NodeJS.ErrnoException, stream: Duplex): void {
    if (error.code === "ECONNRESET" || !stream.writable) return void stream.destroy();
    const client = this.#clients.get(stream);
    // In the middle of another answer there is no place for this one.
    if (client !== undefined && client.pending > 0) return void stream.destroy();
    if (error.code === "HPE_HEADER_OVERFLOW") return this.#complainAboutLength(stream);
    this.#refuse(stream, 400, "the request is not plain HTTP/1.1");
  }

  /** Reports a request whose target is unknown. */
  #refuse(stream: Duplex, status: number, why: string): void {
    const scope = this.#clients.get(stream)?.scope;
    const origin = scope?.kind === "origin" ? scope : undefined;
    const asked: EgressTarget =
      origin === undefined
        ? UNKNOWN_TARGET
        : {
            via: origin.secure ? "https" : "http",
            host: hostText(origin.authority.host),
            port: origin.authority.port,
          };
    new EgressAttempt(this.options.ledger, asked).deny({ allowed: false, rule: BUILT_IN, why });
    this.#end(stream, rawAnswer(status, why));
  }

  #end(stream: Duplex, last: Buffer): void {
    const client = this.#clients.get(stream);
    if (client !== undefined) this.#release(client);
    stream.removeAllListeners("data");
    stream.end(last);
    stream.resume();
    lingerThenDestroy(stream, LINGER_MS);
  }
}
