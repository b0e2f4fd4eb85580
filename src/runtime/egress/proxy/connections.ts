import type { Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import type { EgressTotals } from "../events.js";
import { canonicalAddress } from "../rules/addresses.js";
import { decideAddress, decideHost } from "../rules/decide.js";
import { type Authority, hostText } from "../rules/host.js";
import type { EgressDecision, RuleSets } from "../rules/rules.js";
import { DialError, dial } from "./dial.js";
import type { EgressLimits } from "./limits.js";
import type { Resolve } from "./lookup-queue.js";
import { systemLookups } from "./lookup-queue.js";
import { resolveChecked } from "./resolve.js";

/** The rules refuse it. */
export class EgressRefused extends Error {
  constructor(readonly verdict: EgressDecision) {
    super(verdict.why);
  }
}

/** It is allowed, and does not work. */
export class Unreachable extends Error {
  constructor(
    /** For HTTP. */
    readonly status: 429 | 502 | 503 | 504,
    message: string,
    /** The system's, where there is one: for SOCKS. */
    readonly code?: string,
  ) {
    super(message);
  }
}

/** Something open that has to go when the rules no longer allow it. */
export interface RevocableConnection {
  decide(rules: RuleSets): EgressDecision;
  /** Ends it, and tells so. */
  cut(verdict: EgressDecision): void;
}

/** A connection to a host. */
export class Route implements RevocableConnection {
  /** The proxy cannot read what passes. */
  opaque = false;
  #sentBefore = 0;
  #receivedBefore = 0;

  constructor(
    readonly authority: Authority,
    readonly address: string,
    readonly socket: Socket,
  ) {}

  decide(rules: RuleSets): EgressDecision {
    const { host, port } = this.authority;
    const verdict = decideHost(rules, host, port, { opaque: this.opaque });
    return verdict.allowed ? decideAddress(rules, host, this.address, port) : verdict;
  }

  cut(): void {
    this.socket.destroy();
  }

  /** What passed since this was last asked. */
  takeBytes(): EgressTotals {
    const { bytesWritten, bytesRead } = this.socket;
    const bytes = {
      bytesSent: bytesWritten - this.#sentBefore,
      bytesReceived: bytesRead - this.#receivedBefore,
    };
    this.#sentBefore = bytesWritten;
    this.#receivedBefore = bytesRead;
    return bytes;
  }
}

export interface ConnectionsOptions {
  readonly limits: EgressLimits;
  readonly resolve?: Resolve;
  readonly rules: () => RuleSets;
}

/** Everything of one sandbox that is open: from its programs, and to hosts. */
export class Connections {
  readonly #resolve: Resolve;
  readonly #clients = new Set<Duplex>();
  readonly #routes = new Map<Socket, Route>();
  readonly #opens = new Set<RevocableConnection>();
  #sent = 0;
  #received = 0;
  #closed = false;

  constructor(private readonly options: ConnectionsOptions) {
    this.#resolve = options.resolve ?? systemLookups.lane();
  }

  get totals(): EgressTotals {
    let [bytesSent, bytesReceived] = [this.#sent, this.#received];
    for (const { bytesWritten, bytesRead } of this.#routes.keys()) {
      bytesSent += bytesWritten;
      bytesReceived += bytesRead;
    }
    return { bytesSent, bytesReceived };
  }

  get hasRoom(): boolean {
    return this.#clients.size < this.options.limits.maxConnections;
  }

  /** How many are open. */
  get counts(): { readonly clients: number; readonly routes: number } {
    return { clients: this.#clients.size, routes: this.#routes.size };
  }

  addClient(client: Duplex): void {
    // A client that resets is no error of ours.
    client.on("error", () => client.destroy());
    if (this.#closed) {
      client.destroy();
      return;
    }
    this.#clients.add(client);
    client.once("close", () => this.#clients.delete(client));
  }

  /** Watches something until the returned function is called. */
  watch(open: RevocableConnection): () => void {
    this.#opens.add(open);
    return () => this.#opens.delete(open);
  }

  /** Resolves, checks and dials. Throws EgressRefused or Unreachable. */
  async reach(authority: Authority, signal: AbortSignal): Promise<Route> {
    const { limits, rules } = this.options;
    const { host, port } = authority;
    this.refuseWhenUsedUp();
    const resolved = await resolveChecked(rules(), host, port, this.#resolve, { signal });
    if ("refused" in resolved) throw new EgressRefused(resolved.refused);
    if ("failed" in resolved) throw new Unreachable(502, resolved.failed, "EHOSTUNREACH");
    const socket = await dial(resolved.addresses, port, { connectMs: limits.connectMs, signal }).catch(
      (error) => {
        if (!(error instanceof DialError)) throw new Unreachable(502, `${hostText(host)} was given up`);
        const why = host.kind === "name" ? `${host.name}: ${error.message}` : error.message;
        throw new Unreachable(error.code === "ETIMEDOUT" ? 504 : 502, why, error.code);
      },
    );
    return this.#keep(authority, socket);
  }

  /** Throws when the sandbox has no bytes left. */
  refuseWhenUsedUp(): void {
    if (this.isUsedUp) throw new Unreachable(429, this.usedUp);
  }

  /** What is said when no bytes are left. */
  get usedUp(): string {
    return `the sandbox has used up its ${this.options.limits.maxBytes} bytes of network traffic`;
  }

  get isUsedUp(): boolean {
    const { maxBytes } = this.options.limits;
    if (maxBytes === Number.POSITIVE_INFINITY) return false;
    const { bytesSent, bytesReceived } = this.totals;
    return bytesSent + bytesReceived >= maxBytes;
  }

  /** Ends everything once the bytes are used up: looked at whenever a piece passes through the stream. */
  meter(stream: Readable): void {
    const { maxBytes } = this.options.limits;
    if (maxBytes === Number.POSITIVE_INFINITY) return;
    stream.on("data", () => {
      if (!this.isUsedUp) return;
      for (const socket of this.#routes.keys()) socket.destroy(new Unreachable(429, this.usedUp));
    });
  }

  /** Closes what the rules no longer allow. */
  recheck(): void {
    const rules = this.options.rules();
    for (const open of [...this.#opens, ...this.#routes.values()]) {
      const verdict = open.decide(rules);
      if (!verdict.allowed) open.cut(verdict);
    }
  }

  close(): void {
    this.#closed = true;
    for (const client of this.#clients) client.destroy();
    for (const socket of this.#routes.keys()) socket.destroy();
  }

  #keep(authority: Authority, socket: Socket): Route {
    const address = canonicalAddress(socket.remoteAddress ?? "") ?? socket.remoteAddress ?? "";
    const route = new Route(authority, address, socket);
    socket.on("error", () => socket.destroy());
    // The rules may have changed while the host took its time.
    const verdict = route.decide(this.options.rules());
    if (this.#closed || !verdict.allowed || socket.destroyed) {
      socket.destroy();
      throw verdict.allowed
        ? new Unreachable(502, `${hostText(authority.host)} closed the connection`)
        : new EgressRefused(verdict);
    }
    this.#routes.set(socket, route);
    socket.once("close", () => {
      this.#routes.delete(socket);
      this.#sent += socket.bytesWritten;
      this.#received += socket.bytesRead;
    });
    return route;
  }
}
