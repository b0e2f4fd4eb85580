import type { Duplex } from "node:stream";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import { type EnvironmentOptions, egressEnvironment } from "../environment.js";
import type { EgressEvent, EgressTotals } from "../events.js";
import type { Authority } from "../rules/host.js";
import type { EgressRules, RuleSets } from "../rules/rules.js";
import type { EdgeSecrets } from "../secrets/edge-secrets.js";
import { Connections } from "./connections.js";
import { BUILT_IN, EgressAttempt, type Ledger, UNKNOWN_TARGET } from "./egress-attempt.js";
import { rawAnswer } from "./error-response.js";
import { DenialLines, EventMerger } from "./event-merger.js";
import { HttpProxy } from "./http-proxy.js";
import { DEFAULT_LIMITS, type EgressLimits } from "./limits.js";
import type { Resolve } from "./lookup-queue.js";
import { peek } from "./peek.js";
import { SocksReply, serveSocks, socksReply, socksReplyCode } from "./socks-proxy.js";
import { openTunnel, type TunnelAnswers } from "./tunnel.js";

export interface EgressOptions extends EnvironmentOptions {
  /** The configuration's. Whatever calls bring along, these have to allow it, too. */
  readonly rules: RuleSets;
  readonly secrets?: EdgeSecrets | undefined;
  readonly limits?: Partial<EgressLimits>;
  readonly resolve?: Resolve;
  /** PEM: trusted besides Node's own, for the TLS that egress opens. */
  readonly upstreamCa?: string | readonly string[];
  readonly onEvent?: (event: EgressEvent) => void;
}

const SOCKS_VERSION = 5;

const CONNECT_ANSWERS: TunnelAnswers = {
  accepted: () => Buffer.from("HTTP/1.1 200 Connection established\r\n\r\n"),
  denied: ({ why }) => rawAnswer(403, why, { denied: true }),
  failed: ({ status, message }) => rawAnswer(status, message),
};

const SOCKS_ANSWERS: TunnelAnswers = {
  accepted: () => socksReply(SocksReply.succeeded),
  denied: () => socksReply(SocksReply.notAllowed),
  failed: ({ code }) => socksReply(socksReplyCode(code)),
};

/** One sandbox's egress proxy. Every byte from it is hostile; what the rules do not allow gets nowhere. */
export class Egress {
  /** Variables for programs inside. */
  readonly environment: Record<string, string>;
  readonly #limits: EgressLimits;
  readonly #events: EventMerger;
  readonly #denials = new DenialLines();
  readonly #notes = new Set<{ readonly denied: DenialLines; readonly failed: DenialLines }>();
  readonly #connections: Connections;
  readonly #http: HttpProxy;
  readonly #ledger: Ledger;
  readonly #secrets: EdgeSecrets | undefined;
  readonly #entered = new Map<symbol, EgressRules>();
  #base: RuleSets;
  /** Of the call that left last: what it started may still run. */
  #lingering: EgressRules | undefined;
  #trust: SecureContext | undefined;

  constructor(options: EgressOptions) {
    this.#base = options.rules;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#secrets = options.secrets;
    this.environment = egressEnvironment(options);
    this.#events = new EventMerger(options.onEvent ?? (() => undefined));
    const rules = () => this.#rules;
    this.#connections = new Connections({
      limits: this.#limits,
      rules,
      ...(options.resolve !== undefined && { resolve: options.resolve }),
    });
    this.#ledger = {
      events: this.#events,
      denials: {
        add: (line) => {
          this.#denials.add(line);
          for (const { denied } of this.#notes) denied.add(line);
        },
      },
      failures: {
        add: (line) => {
          for (const { failed } of this.#notes) failed.add(line);
        },
      },
      connections: this.#connections,
    };
    const extra = options.upstreamCa === undefined ? [] : [options.upstreamCa].flat();
    this.#http = new HttpProxy({
      limits: this.#limits,
      connections: this.#connections,
      secrets: options.secrets,
      ledger: this.#ledger,
      rules,
      // Without a list of its own, Node trusts what it was started with as well.
      trust: () => {
        this.#trust ??= createSecureContext(
          extra.length === 0 ? {} : { ca: [...rootCertificates, ...extra] },
        );
        return this.#trust;
      },
      tunnel: (client, authority) => this.#tunnel("connect", client, authority, CONNECT_ANSWERS),
    });
  }

  /** Cumulative. */
  get totals(): EgressTotals {
    return this.#connections.totals;
  }

  /** How many connections are open, from programs inside and to hosts. */
  get open(): { readonly clients: number; readonly routes: number } {
    return this.#connections.counts;
  }

  /** Takes one connection from the sandbox. */
  accept(stream: Duplex): void {
    const hasRoom = this.#connections.hasRoom;
    this.#connections.addClient(stream);
    if (!hasRoom) {
      const why = `the sandbox has ${this.#limits.maxConnections} connections open, which is the limit`;
      new EgressAttempt(this.#ledger, UNKNOWN_TARGET).deny({ allowed: false, rule: BUILT_IN, why });
      stream.end(rawAnswer(503, why), () => stream.destroy());
      return;
    }
    this.#serve(stream).catch(() => stream.destroy());
  }

  /** Replaces the base set. What is open and no longer allowed is closed. */
  update(rules: RuleSets): void {
    this.#base = rules;
    this.#connections.recheck();
  }

  /**
   * Adds a call's own set: all that are entered, and the base, have to allow. The returned function leaves; the last set
   * to leave stays in force until the next one enters.
   */
  enter(rules: EgressRules): () => void {
    const key = Symbol("call");
    this.#entered.set(key, rules);
    this.#lingering = undefined;
    this.#connections.recheck();
    return () => {
      if (this.#entered.delete(key) && this.#entered.size === 0) this.#lingering = rules;
    };
  }

  /** Notes what is denied and what fails from now on, until the function returned is called, which tells it. */
  takeNotes(): () => { readonly denied: readonly string[]; readonly failed: readonly string[] } {
    const notes = { denied: new DenialLines(), failed: new DenialLines() };
    this.#notes.add(notes);
    return () => {
      this.#notes.delete(notes);
      return { denied: notes.denied.take(), failed: notes.failed.take() };
    };
  }

  /** Lines about what was denied since they were last taken: each once. */
  takeDenials(): string[] {
    return this.#denials.take();
  }

  /** Ends every connection and tells what is still to be told. */
  close(): void {
    this.#connections.close();
    this.#events.close();
  }

  get #rules(): readonly EgressRules[] {
    const ofCalls = this.#lingering === undefined ? [...this.#entered.values()] : [this.#lingering];
    return [this.#base, ofCalls].flat();
  }

  async #serve(stream: Duplex): Promise<void> {
    const first = await peek(stream, {
      look: (bytes) => ({ value: bytes[0], used: 0 }),
      maxBytes: 1,
      timeoutMs: this.#limits.headMs,
    });
    if (first === undefined) return void stream.destroy();
    if (first !== SOCKS_VERSION) return this.#http.serve(stream, { kind: "proxy" });
    await serveSocks(stream, {
      limits: this.#limits,
      ledger: this.#ledger,
      rules: () => this.#rules,
      tunnel: (client, authority) => this.#tunnel("socks", client, authority, SOCKS_ANSWERS),
    });
  }

  #tunnel(via: "connect" | "socks", client: Duplex, authority: Authority, answers: TunnelAnswers): void {
    openTunnel(
      { via, client, authority, answers },
      {
        limits: this.#limits,
        connections: this.#connections,
        ledger: this.#ledger,
        secrets: this.#secrets,
        rules: () => this.#rules,
        serveHttp: (stream, scope, ready) => this.#http.serve(stream, scope, ready),
      },
    ).catch(() => client.destroy());
  }
}
