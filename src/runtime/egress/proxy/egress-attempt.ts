import type { EgressEvent, EgressTotals } from "../events.js";
import { shown } from "../rules/decide.js";
import type { EgressDecision, RuleSets } from "../rules/rules.js";
import type { Connections, RevocableConnection, Route } from "./connections.js";
import type { DenialLines, EventMerger } from "./event-merger.js";

/** Where attempts are recorded. */
export interface Ledger {
  readonly events: EventMerger;
  readonly denials: Pick<DenialLines, "add">;
  readonly failures: Pick<DenialLines, "add">;
  readonly connections: Connections;
}

export interface EgressTarget {
  readonly via: EgressEvent["via"];
  /** Canonical; a text that is no host is escaped. */
  readonly host: string;
  readonly port: number;
  readonly method?: string;
  /** With its query, which is left out of events. */
  readonly path?: string;
}

/** For a request without a readable target. */
export const UNKNOWN_TARGET: EgressTarget = { via: "http", host: "(unknown)", port: 0 };
/** Why a connection ended that its own program closed: not reported as a failure. */
export const CLOSED_INSIDE = "the program inside closed it";
/** The name of a rule that is in no configuration. */
export const BUILT_IN = "built in";
const NO_BYTES: EgressTotals = { bytesSent: 0, bytesReceived: 0 };

/** A connection open for this long is reported before its end: the process may be killed first. */
const OPEN_MS = 2000;

/** One requested connection or request, from the decision to its end, which is reported exactly once. */
export class EgressAttempt implements RevocableConnection {
  readonly #at = new Date();
  readonly #start = performance.now();
  #rule = "";
  #route: Route | undefined;
  #address: string | undefined;
  #secrets: readonly string[] = [];
  #decide: ((rules: RuleSets) => EgressDecision) | undefined;
  #end: (() => void) | undefined;
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isTold = false;

  constructor(
    private readonly ledger: Ledger,
    private readonly asked: EgressTarget,
  ) {}

  get isOver(): boolean {
    return this.#isTold;
  }

  /** It is allowed, as long as `decide` says so; `end` ends it when that changes. */
  allow(verdict: EgressDecision, decide: (rules: RuleSets) => EgressDecision, end: () => void): void {
    this.#rule = verdict.rule;
    this.#decide = decide;
    this.#end = end;
    this.#unwatch ??= this.ledger.connections.watch(this);
    this.#timer ??= setTimeout(() => this.#tellOpen(), OPEN_MS).unref();
  }

  /** Bytes that pass on this connection from now on are its own. */
  takes(route: Route): void {
    this.#route = route;
    this.#address = route.address;
  }

  uses(secrets: readonly string[]): void {
    this.#secrets = secrets;
  }

  decide(rules: RuleSets): EgressDecision {
    return this.#decide?.(rules) ?? { allowed: true, rule: this.#rule, why: "" };
  }

  cut(verdict: EgressDecision): void {
    this.deny({ ...verdict, why: `closed: ${verdict.why}` });
    this.#end?.();
  }

  deny(verdict: EgressDecision, secrets: readonly string[] = this.#secrets): void {
    if (!this.#isTold) this.ledger.denials.add(verdict.why);
    this.#secrets = secrets;
    this.#rule = verdict.rule;
    this.#tell("denied", verdict.why);
  }

  fail(why: string): void {
    if (!this.#isTold && why !== CLOSED_INSIDE) this.ledger.failures.add(shown(why));
    this.#tell("failed", shown(why));
  }

  finish(): void {
    this.#tell("allowed", this.#allowedWhy);
  }

  /** Drops it without an event: its requests are reported as attempts of their own. */
  forget(): void {
    this.#isTold = true;
    this.#unwatch?.();
    clearTimeout(this.#timer);
  }

  #tellOpen(): void {
    this.#add({ verdict: "allowed", why: this.#allowedWhy, open: true }, NO_BYTES);
  }

  #tell(verdict: EgressEvent["verdict"], why: string): void {
    if (this.#isTold) return;
    this.forget();
    this.#add({ verdict, why }, this.#route?.takeBytes() ?? NO_BYTES);
  }

  get #allowedWhy(): string {
    return `allowed by rule ${this.#rule}`;
  }

  #add(told: Pick<EgressEvent, "verdict" | "why" | "open">, bytes: EgressTotals): void {
    const { via, host, port, method, path } = this.asked;
    this.ledger.events.add({
      at: this.#at,
      via,
      host,
      port,
      ...(this.#address !== undefined && { address: this.#address }),
      ...(method !== undefined && { method }),
      ...(path !== undefined && { path: shown(path.split("?", 1)[0]!) }),
      ...told,
      rule: this.#rule,
      ...bytes,
      durationMs: performance.now() - this.#start,
      ...(this.#secrets.length > 0 && { secrets: [...this.#secrets] }),
    });
  }
}
