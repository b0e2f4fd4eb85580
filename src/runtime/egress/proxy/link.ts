import { Agent, type ClientRequest, request as httpRequest } from "node:http";
import type { Duplex } from "node:stream";
import { type SecureContext, connect as tlsConnect } from "node:tls";
import { type Authority, hostText } from "../rules/host.js";
import type { EdgeSecrets } from "../secrets/edge-secrets.js";
import { type Connections, type Route, Unreachable } from "./connections.js";
import type { EgressLimits } from "./limits.js";

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
