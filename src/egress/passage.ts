import type { Connections, Open, Route } from "./connections.js";
import { shown } from "./decide.js";
import type { DenialLines, EventMerger } from "./event-merger.js";
import type { EgressEvent } from "./events.js";
import type { RuleSets, Verdict } from "./rules.js";

/** Where it is written down what was asked for and what became of it. */
export interface Ledger {
  readonly events: EventMerger;
  readonly denials: DenialLines;
  readonly connections: Connections;
}

export interface Asked {
  readonly via: EgressEvent["via"];
  /** Canonical; what is no host is made visible. */
  readonly host: string;
  readonly port: number;
  readonly method?: string;
  /** With its query, which is not told. */
  readonly path?: string;
}

/** For what never said where it should go. */
export const NOWHERE: Asked = { via: "http", host: "(unknown)", port: 0 };
/** The rule that nobody wrote. */
export const BUILT_IN = "built in";

/** One connection or request that was asked for, from the verdict to its end. It is told exactly once. */
export class Passage implements Open {
  readonly #ledger: Ledger;
  readonly #asked: Asked;
  readonly #at = new Date();
  readonly #start = performance.now();
  #rule = "";
  #route: Route | undefined;
  #address: string | undefined;
  #secrets: readonly string[] = [];
  #decide: ((rules: RuleSets) => Verdict) | undefined;
  #end: (() => void) | undefined;
  #unwatch: (() => void) | undefined;
  #isTold = false;

  constructor(ledger: Ledger, asked: Asked) {
    this.#ledger = ledger;
    this.#asked = asked;
  }

  get isOver(): boolean {
    return this.#isTold;
  }

  /** It is allowed, as long as `decide` says so; `end` ends it when that changes. */
  allow(verdict: Verdict, decide: (rules: RuleSets) => Verdict, end: () => void): void {
    this.#rule = verdict.rule;
    this.#decide = decide;
    this.#end = end;
    this.#unwatch ??= this.#ledger.connections.watch(this);
  }

  /** Bytes that pass on this connection from now on are its own. */
  takes(route: Route): void {
    this.#route = route;
    this.#address = route.address;
  }

  uses(secrets: readonly string[]): void {
    this.#secrets = secrets;
  }

  decide(rules: RuleSets): Verdict {
    return this.#decide?.(rules) ?? { allowed: true, rule: this.#rule, why: "" };
  }

  cut(verdict: Verdict): void {
    this.deny({ ...verdict, why: `closed: ${verdict.why}` });
    this.#end?.();
  }

  deny(verdict: Verdict, secrets: readonly string[] = this.#secrets): void {
    if (!this.#isTold) this.#ledger.denials.add(verdict.why);
    this.#secrets = secrets;
    this.#rule = verdict.rule;
    this.#tell("denied", verdict.why);
  }

  fail(why: string): void {
    this.#tell("failed", shown(why));
  }

  finish(): void {
    this.#tell("allowed", `allowed by rule ${this.#rule}`);
  }

  /** What was asked for is told in other passages, one for each request. */
  forget(): void {
    this.#isTold = true;
    this.#unwatch?.();
  }

  #tell(verdict: EgressEvent["verdict"], why: string): void {
    if (this.#isTold) return;
    this.forget();
    const { via, host, port, method, path } = this.#asked;
    const { bytesSent, bytesReceived } = this.#route?.takeBytes() ?? { bytesSent: 0, bytesReceived: 0 };
    this.#ledger.events.add({
      at: this.#at,
      via,
      host,
      port,
      ...(this.#address !== undefined && { address: this.#address }),
      ...(method !== undefined && { method }),
      ...(path !== undefined && { path: shown(path.split("?", 1)[0]!) }),
      verdict,
      rule: this.#rule,
      why,
      bytesSent,
      bytesReceived,
      durationMs: performance.now() - this.#start,
      ...(this.#secrets.length > 0 && { secrets: [...this.#secrets] }),
    });
  }
}
