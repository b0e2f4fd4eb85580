import { uptime } from "node:os";
import type { SandboxError } from "../../kit/errors.js";
import { RETRY_AFTER_SECONDS, RetryLater } from "../http/error-reply.js";
import type { Lease, Store } from "../store/index.js";

/** What follows from a lease. */
export interface LeaseTimes {
  /** Between two signs of life. */
  readonly beatMs: number;
  /** Between two looks for servers that are dead. */
  readonly lookMs: number;
  /** So long after its last sign of life a server ends everything: the rest of the lease is for that. */
  readonly fenceMs: number;
}

/** The same for everybody who has the same lease. */
export function timesOf(leaseMs: number): LeaseTimes {
  return { beatMs: leaseMs / 6, lookMs: leaseMs / 6, fenceMs: (leaseMs * 3) / 4 };
}

/** Signs of life that nobody has answered yet: one that hangs must not keep back the next. */
const MAX_UNANSWERED = 3;

/**
 * The machine's time since it started, also while it slept. `performance.now()` stands still then: whoever woke up would
 * take a lease that ran out hours ago for a fresh one. Neither can be set.
 */
function sinceBootMs(): number {
  return uptime() * 1000;
}

/**
 * This run's place among the servers of one store. Others may declare it dead when they have not heard of it for as long
 * as its lease is, so it gives the place up before that by itself: it counts from before a sign of life was sent, by a
 * clock of its own. With a store that no other machine has, only being told so ends it.
 */
export class ServerPlace {
  readonly lease: Lease;
  readonly #store: Store;
  readonly #leaseMs: number;
  readonly #times: LeaseTimes;
  readonly #now: () => number;
  readonly #listeners: ((why: SandboxError) => void)[] = [];
  /** When the last sign of life that was heard was sent. */
  #heardAt: number;
  /** Since when none was late. */
  #steadySince: number;
  #lostWhy: SandboxError | undefined;
  #beats: NodeJS.Timeout | undefined;
  #fence: NodeJS.Timeout | undefined;
  readonly #unanswered = new Set<Promise<void>>();
  #onFailure: (error: unknown) => void = () => undefined;

  private constructor(
    store: Store,
    lease: Lease,
    { leaseMs, sentAt, now }: { leaseMs: number; sentAt: number; now: () => number },
  ) {
    this.#store = store;
    this.lease = lease;
    this.#leaseMs = leaseMs;
    this.#times = timesOf(leaseMs);
    this.#now = now;
    this.#heardAt = sentAt;
    this.#steadySince = sentAt;
  }

  /** Begins a run, and gives signs of life until `leave`. */
  static async take(
    store: Store,
    id: string,
    { leaseMs, now = sinceBootMs }: { readonly leaseMs: number; readonly now?: () => number },
  ): Promise<ServerPlace> {
    const sentAt = now();
    const lease = await store.servers.start({ id, url: "", leaseMs });
    const place = new ServerPlace(store, lease, { leaseMs, sentAt, now });
    place.#beats = setInterval(() => place.#beat(), place.#times.beatMs).unref();
    place.#setFence();
    return place;
  }

  /** How long after now the lease may have run out; 0: it may have by now. */
  get leftMs(): number {
    return Math.max(0, this.#heardAt + this.#leaseMs - this.#now());
  }

  get isLost(): boolean {
    return this.#lostWhy !== undefined;
  }

  /**
   * True: it has heard of itself all the while that it would take another one to die. After an outage of the database, or
   * a start of everybody, those who come back a moment later are not dead.
   */
  get mayJudge(): boolean {
    return !this.isLost && this.#now() - this.#steadySince >= this.#leaseMs;
  }

  /** Throws unless it is certain that nobody has declared this run dead. */
  check(): void {
    // A process that was stopped wakes up with what came meanwhile, before any timer.
    if (this.#lostWhy === undefined && this.#isOverdue()) this.#lose(unheard());
    if (this.#lostWhy !== undefined) throw this.#lostWhy;
  }

  /** Called at once, and once, when the place is lost. */
  onLost(listener: (why: SandboxError) => void): void {
    if (this.#lostWhy === undefined) this.#listeners.push(listener);
    else listener(this.#lostWhy);
  }

  /** Who is told of signs of life that failed. */
  onFailure(listener: (error: unknown) => void): void {
    this.#onFailure = listener;
  }

  /** No further signs of life. What the server has stays its own for one more lease, so that it may come back. */
  async leave(): Promise<void> {
    this.#stopTimers();
    await Promise.all(this.#unanswered);
    await this.#store.servers.stop(this.lease, this.#leaseMs);
  }

  #beat(): void {
    if (this.#unanswered.size >= MAX_UNANSWERED) return;
    const sentAt = this.#now();
    const answered = this.#store.servers
      .beat(this.lease, this.#leaseMs)
      .then(
        (isOurs) => (isOurs ? this.#heard(sentAt) : this.#lose(takenForDead())),
        (error) => this.#onFailure(error),
      )
      .finally(() => this.#unanswered.delete(answered));
    this.#unanswered.add(answered);
  }

  #heard(sentAt: number): void {
    // Answers may come in another order.
    if (this.isLost || sentAt <= this.#heardAt) return;
    if (sentAt - this.#heardAt > 2 * this.#times.beatMs) this.#steadySince = sentAt;
    this.#heardAt = sentAt;
    this.#setFence();
  }

  #setFence(): void {
    if (!this.#hasNeighbours) return;
    clearTimeout(this.#fence);
    const leftMs = this.#heardAt + this.#times.fenceMs - this.#now();
    this.#fence = setTimeout(
      () => (this.#isOverdue() ? this.#lose(unheard()) : this.#setFence()),
      // A timer may be early by a millisecond.
      Math.max(leftMs, 1),
    ).unref();
  }

  #isOverdue(): boolean {
    return this.#hasNeighbours && this.#now() - this.#heardAt >= this.#times.fenceMs;
  }

  /** A file of SQLite is on this machine: whoever has it sleeps when this machine does, and wakes with it. */
  get #hasNeighbours(): boolean {
    return this.#store.kind === "postgres";
  }

  #lose(why: SandboxError): void {
    if (this.isLost) return;
    this.#lostWhy = why;
    this.#stopTimers();
    for (const listener of this.#listeners) listener(why);
  }

  #stopTimers(): void {
    clearInterval(this.#beats);
    clearTimeout(this.#fence);
  }
}

function takenForDead(): SandboxError {
  return lost("This server was taken for dead by another, and stops");
}

function unheard(): SandboxError {
  return lost("This server has not reached its store for so long that it may be taken for dead, and stops");
}

function lost(message: string): SandboxError {
  return new RetryLater(
    "STORE_FAILED",
    message,
    RETRY_AFTER_SECONDS,
    "Ask another server, or this one when it is back.",
  );
}
