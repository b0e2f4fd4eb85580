import { Backoff } from "../../kit/backoff.js";
import { createDeferred, type Deferred } from "../../kit/deferred.js";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { withTimeout } from "../../kit/timeout.js";
import { Disposal } from "./disposal.js";
import { LeaseRegistry } from "./lease-registry.js";
import { PoolCounters } from "./pool-counters.js";
import { cancelled, endedByItself, exhausted, stopped, tookTooLong, unhealthy } from "./pool-errors.js";
import type { PoolItem, PoolSource, PoolWatcher } from "./pool-item.js";
import type { AcquireRequest, PoolLease, PoolStatus, ReleaseOptions } from "./pool-lease.js";
import { checkMs, type PoolSettings, resolveSettings } from "./pool-options.js";
import { PoolRequest, Slot, Slots } from "./slot.js";
import { WaitingLine } from "./waiting-line.js";

/** Spare items that may be starting at the same time. */
const MAX_IN_BACKGROUND = 4;
/** Something that lives so long was made well. */
const PROVEN_MS = 5000;

/**
 * Keeps items ready, hands each to one session at a time, and never has more than its maximum. Every change of a slot or
 * of the queue ends in `#advance`, which decides what happens next; nothing else hands out, makes or evicts.
 */
export class Pool<Item extends PoolItem> {
  readonly #source: PoolSource<Item>;
  readonly #settings: PoolSettings;
  readonly #watcher: PoolWatcher;
  readonly #slots = new Slots<Item>();
  readonly #line = new WaitingLine<Item>();
  readonly #leases = new LeaseRegistry<Item>((request) => this.#released(request));
  readonly #disposal: Disposal<Item>;
  readonly #backoff = new Backoff();
  readonly #counters: PoolCounters;
  #moment = 0;
  #isStarted = false;
  #isStopping = false;
  #stopped: Promise<void> | undefined;
  #emptied: Deferred<void> | undefined;
  #alarm: NodeJS.Timeout | undefined;

  constructor(
    source: PoolSource<Item>,
    settings: Partial<PoolSettings> = {},
    watcher: PoolWatcher = {},
    /** Counts on from what was before. */
    counters = new PoolCounters(),
  ) {
    this.#counters = counters;
    this.#source = source;
    this.#watcher = watcher;
    this.#settings = resolveSettings(settings);
    this.#disposal = new Disposal({
      counters,
      timeoutMs: this.#settings.destroyTimeoutMs,
      overdue: () => {
        this.#tellIfEmpty();
        this.#advance();
      },
      gone: (slot) => this.#free(slot),
    });
  }

  /** Begins to make items in the background. */
  start(): void {
    if (this.#isStopping) throw stopped();
    this.#begin();
    this.#advance();
  }

  #begin(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#watcher.began?.();
  }

  /** An item: the session's own, a prepared one, or one made to order. Waits in line, up to the deadline. */
  async acquire(asked: AcquireRequest<Item> = {}): Promise<PoolLease<Item>> {
    const { sessionId, signal, timeoutMs = this.#settings.acquireTimeoutMs } = asked;
    checkMs("timeoutMs", timeoutMs);
    if (this.#isStopping) throw stopped();
    if (signal?.aborted) throw cancelled(signal.reason);
    this.#begin();
    const known = this.#line.ofSession(sessionId);
    if (known?.slot?.state === "busy") return this.#lease(known, known.slot, true);
    const request = known ?? new PoolRequest(asked, ++this.#moment);
    if (known === undefined) this.#line.join(request);
    const lease = request.wait(
      { signal, timeoutMs },
      () => this.#tooLate(timeoutMs),
      () => this.#left(request),
    );
    this.#advance();
    return lease;
  }

  /** The same as the lease's own `release`; refuses what this pool did not hand out. */
  async release(lease: PoolLease<Item>, options?: ReleaseOptions): Promise<void> {
    this.#leases.release(lease, options);
  }

  status(): PoolStatus {
    const { minInstances, maxInstances } = this.#settings;
    const { remainingMs } = this.#backoff;
    return {
      ...this.#slots.counts(),
      waiting: this.#line.callers,
      minInstances,
      maxInstances,
      ...this.#counters.describe(),
      instances: [...this.#slots].map((slot) => slot.describe()),
      ...(remainingMs > 0 && { nextAttemptAt: new Date(Date.now() + remainingMs) }),
    };
  }

  /**
   * Refuses who comes and who waits, destroys what is idle, and what is busy when it is released or at the deadline.
   * Rejects when something could not be destroyed in time.
   */
  stop({ drainTimeoutMs = this.#settings.drainTimeoutMs } = {}): Promise<void> {
    this.#stopped ??= this.#drain(drainTimeoutMs).finally(() => this.#watcher.over?.());
    return this.#stopped;
  }

  async #drain(drainTimeoutMs: number): Promise<void> {
    this.#isStopping = true;
    this.#emptied = createDeferred();
    clearTimeout(this.#alarm);
    for (const request of [...this.#line]) this.#fail(request, stopped());
    for (const slot of [...this.#slots]) {
      if (slot.state !== "busy") this.#leave(slot);
      slot.overdueTimer?.ref();
    }
    const deadline = setTimeout(() => {
      for (const slot of [...this.#slots]) this.#leave(slot);
    }, drainTimeoutMs);
    this.#tellIfEmpty();
    await this.#emptied.promise;
    clearTimeout(deadline);
    if (this.#slots.size === 0) return;
    const message = `${this.#slots.size} of the pool's items could not be removed`;
    throw new SandboxError("INTERNAL", message, { cause: this.#counters.lastFailure });
  }

  /** Serves the requests in line, then starts what is missing for the next ones. */
  #advance(): void {
    if (this.#isStopping || !this.#isStarted) return;
    for (const slot of this.#slots.tooOld(this.#settings)) this.#leave(slot);
    const { maxInstances } = this.#settings;
    const idle = this.#slots.inState("idle").sort((a, b) => a.readyAt - b.readyAt);
    const onTheirWay = this.#slots.beingPrepared();
    let free = maxInstances - this.#slots.size;
    let soonFree = this.#slots.inState("leaving").filter((slot) => !slot.isOverdue).length;
    for (const request of [...this.#line]) {
      if (request.slot !== undefined) continue;
      if (request.create === undefined) {
        const ready = idle.shift();
        if (ready !== undefined) {
          this.#check(request, ready);
          continue;
        }
        if (onTheirWay.shift() !== undefined) continue;
      }
      // Its files may not be settled before the session's last item is gone.
      const hasToWait = request.create !== undefined && this.#slots.isStillLeaving(request.sessionId);
      if (!hasToWait && free > 0) {
        free -= 1;
        this.#make(request);
      } else if (soonFree > 0) {
        soonFree -= 1;
      } else if (request.create !== undefined) {
        const evicted = idle.shift() ?? onTheirWay.pop();
        if (evicted !== undefined) this.#leave(evicted);
      }
    }
    for (const slot of this.#slots.tooMany(this.#settings)) this.#leave(slot);
    this.#prepare(idle.length, onTheirWay.length, free);
    this.#setAlarm();
  }

  /** Makes as many in the background as are missing, fewer while that fails. */
  #prepare(idle: number, onTheirWay: number, free: number): void {
    const ready = idle + onTheirWay + this.#slots.inState("resetting").length;
    const missing = Math.min(this.#settings.minInstances - ready, free);
    if (missing <= 0 || this.#backoff.remainingMs > 0) return;
    const atOnce = this.#backoff.isFailing ? 1 : MAX_IN_BACKGROUND;
    for (let more = Math.min(missing, atOnce - onTheirWay); more > 0; more -= 1) this.#make();
  }

  /** Wakes when the next idle item is too old, and when the source may be asked again. */
  #setAlarm(): void {
    clearTimeout(this.#alarm);
    const { remainingMs } = this.#backoff;
    const times = this.#slots.timesLeft(this.#settings).concat(remainingMs > 0 ? [remainingMs] : []);
    if (times.length === 0) return;
    this.#alarm = setTimeout(() => this.#advance(), Math.max(1, Math.ceil(Math.min(...times)))).unref();
  }

  #make(request?: PoolRequest<Item>): void {
    const order = request?.create;
    const slot = new Slot<Item>(order !== undefined);
    this.#slots.add(slot);
    if (request !== undefined && order !== undefined) {
      request.slot = slot;
      slot.request = request;
      slot.sessionId = request.sessionId;
    }
    const { createTimeoutMs } = this.#settings;
    const { signal } = slot.abandoned;
    const timer = setTimeout(() => {
      if (!slot.isBeingMade) return;
      this.#makingFailed(slot, tookTooLong("Starting a sandbox", createTimeoutMs));
      this.#leave(slot);
      this.#advance();
    }, createTimeoutMs).unref();
    Promise.resolve()
      .then(() => (order === undefined ? this.#source.create(signal) : order(signal)))
      .finally(() => clearTimeout(timer))
      .then(
        (item) => this.#made(slot, item),
        (error: unknown) => {
          if (slot.isBeingMade) this.#makingFailed(slot, error);
          this.#free(slot);
        },
      );
  }

  #made(slot: Slot<Item>, item: Item): void {
    slot.item = item;
    slot.madeAt = performance.now();
    this.#counters.created += 1;
    setTimeout(() => this.#endured(slot), PROVEN_MS).unref();
    const ended = () => this.#ended(slot);
    item.ended.then(ended, ended);
    if (slot.state === "leaving") void this.#disposal.destroy(slot, item);
    else if (slot.request !== undefined) this.#grant(slot.request, slot);
    else this.#ready(slot, true);
  }

  /** What ends soon after it was made would only be followed by another such. */
  #endured(slot: Slot<Item>): void {
    if (slot.hasEnded || !this.#slots.has(slot)) return;
    this.#backoff.succeeded();
    this.#advance();
  }

  /** The request that waited for this item gets the reason; it is still in its slot. */
  #makingFailed(slot: Slot<Item>, error: unknown): void {
    this.#counters.note(error);
    this.#backoff.failed(slot.begunAt);
    const request = slot.request ?? this.#whoWaitsFor(slot);
    if (request !== undefined) this.#fail(request, toSandboxError(error, "SANDBOX_START_FAILED"));
  }

  /** The first in line waits for what was begun first, and so on. */
  #whoWaitsFor(slot: Slot<Item>): PoolRequest<Item> | undefined {
    const place = this.#slots.beingPrepared().indexOf(slot);
    return this.#line.takers()[place];
  }

  #ready(slot: Slot<Item>, isFresh: boolean): void {
    slot.state = "idle";
    slot.request = undefined;
    slot.sessionId = undefined;
    slot.readyAt = ++this.#moment;
    slot.idleSince = performance.now();
    slot.isFresh = isFresh;
    this.#advance();
    slot.isFresh = false;
  }

  #check(request: PoolRequest<Item>, slot: Slot<Item>): void {
    const { item } = slot;
    if (item === undefined) return;
    if (slot.isFresh) return this.#grant(request, slot);
    request.slot = slot;
    slot.request = request;
    slot.state = "acquiring";
    withinTime("Checking a sandbox", this.#settings.healthTimeoutMs, () => item.isHealthy()).then(
      (isHealthy) => this.#checked(slot, isHealthy === true ? undefined : unhealthy()),
      (error: unknown) => this.#checked(slot, error),
    );
  }

  #checked(slot: Slot<Item>, failure: unknown): void {
    if (slot.state !== "acquiring") return;
    if (failure !== undefined) {
      this.#counters.note(failure);
      this.#leave(slot);
      return this.#advance();
    }
    const { request } = slot;
    if (request === undefined) return this.#ready(slot, false);
    // An earlier request may have lost its item meanwhile.
    const first = [...this.#line].find(
      (each) => each === request || (each.slot === undefined && each.create === undefined),
    );
    request.slot = undefined;
    this.#grant(first ?? request, slot);
    this.#advance();
  }

  #grant(request: PoolRequest<Item>, slot: Slot<Item>): void {
    this.#line.delete(request);
    request.slot = slot;
    slot.request = request;
    slot.sessionId = request.sessionId;
    slot.state = "busy";
    slot.uses += 1;
    this.#backoff.succeeded();
    const wasReady = slot.readyAt > 0 && slot.readyAt < request.askedAt;
    request.grant(() => this.#lease(request, slot, wasReady));
  }

  #lease(request: PoolRequest<Item>, slot: Slot<Item>, wasReady: boolean): PoolLease<Item> {
    const lease = this.#leases.issue(request, slot, wasReady);
    this.#counters[wasReady ? "hits" : "misses"] += 1;
    return lease;
  }

  #released(request: PoolRequest<Item>): void {
    const { slot } = request;
    if (slot?.item === undefined || slot.request !== request || slot.state !== "busy") return;
    this.#line.forget(request);
    if (!this.#isStopping && slot.mayBeReset(this.#settings)) this.#reset(slot, slot.item);
    else this.#leave(slot);
    this.#advance();
  }

  #reset(slot: Slot<Item>, item: Item): void {
    slot.state = "resetting";
    slot.request = undefined;
    withinTime("Resetting a sandbox", this.#settings.resetTimeoutMs, async () => item.reset?.())
      .catch((error: unknown) => this.#counters.note(error))
      .then((isClean) => {
        if (slot.state !== "resetting") return;
        if (isClean === true) {
          this.#counters.resets += 1;
          return this.#ready(slot, false);
        }
        this.#leave(slot);
        this.#advance();
      });
  }

  #ended(slot: Slot<Item>): void {
    slot.hasEnded = true;
    if (slot.state === "leaving" || !this.#slots.has(slot)) return;
    this.#counters.note(endedByItself());
    // One that ends unused would be replaced by another that does the same.
    if (slot.uses === 0) this.#backoff.failed(slot.begunAt);
    this.#leave(slot);
    this.#advance();
  }

  /** From here on it has no holder, and counts until it is gone. */
  #leave(slot: Slot<Item>): void {
    if (slot.state === "leaving") return;
    const { request } = slot;
    if (request !== undefined && slot.state === "busy") this.#line.forget(request);
    else if (request !== undefined) request.slot = undefined;
    slot.request = undefined;
    slot.state = "leaving";
    this.#disposal.begin(slot, this.#isStopping);
  }

  #free(slot: Slot<Item>): void {
    clearTimeout(slot.overdueTimer);
    this.#slots.delete(slot);
    this.#tellIfEmpty();
    this.#advance();
  }

  #fail(request: PoolRequest<Item>, error: SandboxError): void {
    this.#line.forget(request);
    request.fail(error);
  }

  /** A caller has given up; the last one takes the request along. */
  #left(request: PoolRequest<Item>): void {
    if (request.waiting > 0) return;
    this.#line.forget(request);
    const { slot } = request;
    if (slot !== undefined) {
      slot.request = undefined;
      if (slot.isMadeToOrder) this.#leave(slot);
    }
    this.#advance();
  }

  #tooLate(timeoutMs: number): SandboxError {
    this.#counters.noteTimeout();
    return exhausted(timeoutMs, this.status());
  }

  #tellIfEmpty(): void {
    if ([...this.#slots].every((slot) => slot.isOverdue)) this.#emptied?.resolve();
  }
}

/** What `act` makes; a failure when it takes longer. `act` never runs before the caller's own turn is over. */
function withinTime<T>(what: string, ms: number, act: () => Promise<T>): Promise<T> {
  const late = () => tookTooLong(what, ms);
  return withTimeout(Promise.resolve().then(act), ms, late, { keepsProcessAlive: false });
}
