import { uptime } from "node:os";
import type { SandboxError } from "../../kit/errors.js";
import { RETRY_AFTER_SECONDS, RetryLater } from "../http/index.js";
import type { LeaseToken, Store } from "../store/index.js";

/** The intervals that follow from the length of a lease. */
export interface LeaseTimes {
  /** Between two heartbeats. */
  readonly heartbeatMs: number;
  /** Between two searches for dead servers. */
  readonly reapMs: number;
  /** So long after its last heartbeat a server stops everything by itself. It has the rest of the lease for that. */
  readonly fenceMs: number;
}

/** The same for every server with the same lease. */
export function leaseTimes(leaseMs: number): LeaseTimes {
  return { heartbeatMs: leaseMs / 6, reapMs: leaseMs / 6, fenceMs: (leaseMs * 3) / 4 };
}

/** Heartbeats in flight at once: one that hangs must not delay the next. */
const MAX_IN_FLIGHT = 3;

/**
 * The time since the machine started, sleep included. `performance.now()` does not advance during sleep: after it, a lease
 * that ran out hours ago would look fresh. Neither clock can be set.
 */
function sinceBootMs(): number {
  return uptime() * 1000;
}

/**
 * The lease of this run of a server in the store. Other servers may declare this one dead when the lease has run out
 * without a heartbeat, so it gives the lease up before that by itself: it counts from before a heartbeat was sent, by its own
 * clock. With a store that only this machine uses, the lease is lost only when the store says so.
 */
export class FencedLease {
  readonly #leaseMs: number;
  readonly #times: LeaseTimes;
  readonly #now: () => number;
  readonly #listeners: ((why: SandboxError) => void)[] = [];
  /** When the last heartbeat that the store confirmed was sent. */
  #confirmedAt: number;
  /** Since when no heartbeat was late. */
  #steadySince: number;
  #lostWhy: SandboxError | undefined;
  #heartbeats: NodeJS.Timeout | undefined;
  #fence: NodeJS.Timeout | undefined;
  readonly #inFlight = new Set<Promise<void>>();
  #onFailure: (error: unknown) => void = () => undefined;

  private constructor(
    private readonly store: Store,

    /** What the store knows this run by. */
    readonly token: LeaseToken,
    { leaseMs, sentAt, now }: { leaseMs: number; sentAt: number; now: () => number },
  ) {
    this.#leaseMs = leaseMs;
    this.#times = leaseTimes(leaseMs);
    this.#now = now;
    this.#confirmedAt = sentAt;
    this.#steadySince = sentAt;
  }

  /** Begins a run, with heartbeats until `release`. */
  static async acquire(
    store: Store,
    id: string,
    { leaseMs, now = sinceBootMs }: { readonly leaseMs: number; readonly now?: () => number },
  ): Promise<FencedLease> {
    const sentAt = now();
    const token = await store.servers.start({ id, url: "", leaseMs });
    const lease = new FencedLease(store, token, { leaseMs, sentAt, now });
    lease.#heartbeats = setInterval(() => lease.#heartbeat(), lease.#times.heartbeatMs).unref();
    lease.#setFence();
    return lease;
  }

  /** The id of this server. */
  get server(): string {
    return this.token.server;
  }

  /** How long the lease is certain to hold; 0: it may have run out. */
  get leftMs(): number {
    return Math.max(0, this.#confirmedAt + this.#leaseMs - this.#now());
  }

  get isLost(): boolean {
    return this.#lostWhy !== undefined;
  }

  /**
   * True: this server's own heartbeats were on time for a whole lease. After an outage of the database, or a start of all
   * servers at once, the others get that long to come back.
   */
  get canDeclareDead(): boolean {
    return !this.isLost && this.#now() - this.#steadySince >= this.#leaseMs;
  }

  /** Throws unless it is certain that no other server has declared this one dead. */
  assertHeld(): void {
    // A process that was stopped handles requests that came meanwhile before any timer.
    if (this.#lostWhy === undefined && this.#isOverdue()) this.#lose(storeUnreachable());
    if (this.#lostWhy !== undefined) throw this.#lostWhy;
  }

  /** Called once, at once, when the lease is lost. */
  onLost(listener: (why: SandboxError) => void): void {
    if (this.#lostWhy === undefined) this.#listeners.push(listener);
    else listener(this.#lostWhy);
  }

  /** Called for every heartbeat that failed. */
  onFailure(listener: (error: unknown) => void): void {
    this.#onFailure = listener;
  }

  /** Stops the heartbeats. The server keeps its sessions for one more lease, so that it may come back. */
  async release(): Promise<void> {
    this.#stopTimers();
    await Promise.all(this.#inFlight);
    await this.store.servers.stop(this.token, this.#leaseMs);
  }

  #heartbeat(): void {
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return;
    const sentAt = this.#now();
    const answered = this.store.servers
      .heartbeat(this.token, this.#leaseMs)
      .then(
        (isHeld) => (isHeld ? this.#confirm(sentAt) : this.#lose(declaredDead())),
        (error) => this.#onFailure(error),
      )
      .finally(() => this.#inFlight.delete(answered));
    this.#inFlight.add(answered);
  }

  #confirm(sentAt: number): void {
    // Answers may come in another order.
    if (this.isLost || sentAt <= this.#confirmedAt) return;
    if (sentAt - this.#confirmedAt > 2 * this.#times.heartbeatMs) this.#steadySince = sentAt;
    this.#confirmedAt = sentAt;
    this.#setFence();
  }

  #setFence(): void {
    if (!this.#isShared) return;
    clearTimeout(this.#fence);
    const leftMs = this.#confirmedAt + this.#times.fenceMs - this.#now();
    this.#fence = setTimeout(
      () => (this.#isOverdue() ? this.#lose(storeUnreachable()) : this.#setFence()),
      // A timer may fire a millisecond early.
      Math.max(leftMs, 1),
    ).unref();
  }

  #isOverdue(): boolean {
    return this.#isShared && this.#now() - this.#confirmedAt >= this.#times.fenceMs;
  }

  /** False of a file of SQLite: the processes that use it are on this machine, and sleep and wake together. */
  get #isShared(): boolean {
    return this.store.kind === "postgres";
  }

  #lose(why: SandboxError): void {
    if (this.isLost) return;
    this.#lostWhy = why;
    this.#stopTimers();
    for (const listener of this.#listeners) listener(why);
  }

  #stopTimers(): void {
    clearInterval(this.#heartbeats);
    clearTimeout(this.#fence);
  }
}

function declaredDead(): SandboxError {
  return lost("Another server declared this one dead; it stops");
}

function storeUnreachable(): SandboxError {
  return lost("This server could not reach its store for too long; it stops");
}

function lost(message: string): SandboxError {
  return new RetryLater(
    "STORE_FAILED",
    message,
    RETRY_AFTER_SECONDS,
    "Ask another server, or try again later.",
  );
}
