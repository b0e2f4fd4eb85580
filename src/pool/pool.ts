import { SandboxError, toSandboxError } from "../errors.js";
import { createDeferred, type Deferred } from "../wire/deferred.js";
import { Backoff } from "./backoff.js";
import { Claim } from "./claim.js";
import { cancelled, endedByItself, exhausted, stopped, tookTooLong, unhealthy } from "./pool-errors.js";
import type { PoolItem, PoolSource } from "./pool-item.js";
import type { AcquireRequest, PoolLease, PoolStatus, ReleaseOptions } from "./pool-lease.js";
import { checkMs, type PoolSettings, resolveSettings } from "./pool-options.js";
import { Slot, Slots } from "./slot.js";
import { Tally } from "./tally.js";
import { withinTime } from "./time-limit.js";

/** Items for nobody in particular that may be on their way at the same time. */
const MAX_IN_BACKGROUND = 4;
/** Something that lives so long was made well. */
const PROVEN_MS = 5000;

export interface PoolWatcher {
  began?(): void;
  over?(): Promise<void>;
}

/**
 * Keeps items ready, hands each to one session at a time, and never has more than its maximum. Every change of a slot or
 * of the queue ends in `#advance`, which decides what happens next; nothing else hands out, makes or evicts.
 */
export class Pool<Item extends PoolItem> {
  readonly #source: PoolSource<Item>;
  readonly #settings: PoolSettings;
  readonly #watcher: PoolWatcher;
  readonly #slots = new Slots<Item>();
  /** Who waits, in the order in which they came. */
  readonly #queue = new Set<Claim<Item>>();
  readonly #sessions = new Map<string, Claim<Item>>();
  readonly #releases = new WeakMap<PoolLease<Item>, (options?: ReleaseOptions) => void>();
  readonly #backoff = new Backoff();
  readonly #tally: Tally;
  #moment = 0;
  #isStarted = false;
  #isStopping = false;
  #stopped: Promise<void> | undefined;
  #emptied: Deferred<void> | undefined;
  #alarm: NodeJS.Timeout | undefined;

  constructor(
    source: PoolSource<Item>,
    settings: Partial<PoolSettings> = {},
    /** Told once each: when the pool begins, and when it is over. */
    watcher: PoolWatcher = {},
    /** Counts on from what was before. */
    tally = new Tally(),
  ) {
    this.#tally = tally;
    this.#source = source;
    this.#watcher = watcher;
    this.#settings = resolveSettings(settings);
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
  async acquire(request: AcquireRequest<Item> = {}): Promise<PoolLease<Item>> {
    const { sessionId, signal, timeoutMs = this.#settings.acquireTimeoutMs } = request;
    checkMs("timeoutMs", timeoutMs);
    if (this.#isStopping) throw stopped();
    if (signal?.aborted) throw cancelled(signal.reason);
    this.#begin();
    const known = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    if (known?.slot?.state === "busy") return this.#lease(known, known.slot, true);
    const claim = known ?? new Claim(request, ++this.#moment);
    if (known === undefined) {
      this.#queue.add(claim);
      if (sessionId !== undefined) this.#sessions.set(sessionId, claim);
    }
    const lease = claim.wait(
      { signal, timeoutMs },
      () => this.#tooLate(timeoutMs),
      () => this.#left(claim),
    );
    this.#advance();
    return lease;
  }

  /** The same as the lease's own `release`; refuses what this pool did not hand out. */
  async release(lease: PoolLease<Item>, options?: ReleaseOptions): Promise<void> {
    const release = this.#releases.get(lease);
    if (release !== undefined) return release(options);
    throw new SandboxError("INVALID_ARGUMENT", "This was never acquired from this pool", {
      hint: "Release the lease that acquire() resolved to.",
    });
  }

  status(): PoolStatus {
    const { minInstances, maxInstances } = this.#settings;
    const states = { idle: 0, acquiring: 0, busy: 0, resetting: 0, leaving: 0 };
    for (const { state } of this.#slots) states[state] += 1;
    const { remainingMs } = this.#backoff;
    return {
      ...states,
      waiting: [...this.#queue].reduce((sum, claim) => sum + claim.waiting, 0),
      minInstances,
      maxInstances,
      ...this.#tally.describe(),
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
    for (const claim of [...this.#queue]) this.#fail(claim, stopped());
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
    throw new SandboxError("INTERNAL", `${this.#slots.size} of the pool's items could not be removed`, {
      cause: this.#tally.lastFailure,
    });
  }

  /** Gives everybody in line what there is for them, then sees that enough is ready for those who come. */
  #advance(): void {
    if (this.#isStopping || !this.#isStarted) return;
    this.#replaceOld();
    const { maxInstances } = this.#settings;
    const idle = this.#slots.inState("idle").sort((a, b) => a.readyAt - b.readyAt);
    const onTheirWay = this.#slots.beingPrepared();
    let free = maxInstances - this.#slots.size;
    let soonFree = this.#slots.inState("leaving").filter((slot) => !slot.isOverdue).length;
    for (const claim of [...this.#queue]) {
      if (claim.slot !== undefined) continue;
      if (claim.create === undefined) {
        const ready = idle.shift();
        if (ready !== undefined) {
          this.#check(claim, ready);
          continue;
        }
        if (onTheirWay.shift() !== undefined) continue;
      }
      // Its files may not be settled before the session's last item is gone.
      const hasToWait = claim.create !== undefined && this.#slots.isStillLeaving(claim.sessionId);
      if (!hasToWait && free > 0) {
        free -= 1;
        this.#make(claim);
      } else if (soonFree > 0) {
        soonFree -= 1;
      } else if (claim.create !== undefined) {
        const evicted = idle.shift() ?? onTheirWay.pop();
        if (evicted !== undefined) this.#leave(evicted);
      }
    }
    for (const slot of this.#slots.surplus(this.#settings)) {
      if (slot.idleMs >= this.#settings.surplusMs) this.#leave(slot);
    }
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
    const times = this.#slots.inState("idle").map((slot) => this.#settings.maxAgeMs - slot.ageMs);
    for (const { idleMs } of this.#slots.surplus(this.#settings)) {
      times.push(this.#settings.surplusMs - idleMs);
    }
    const { remainingMs } = this.#backoff;
    if (remainingMs > 0) times.push(remainingMs);
    if (times.length === 0) return;
    this.#alarm = setTimeout(() => this.#advance(), Math.max(1, Math.ceil(Math.min(...times)))).unref();
  }

  #replaceOld(): void {
    for (const slot of this.#slots.inState("idle")) {
      if (!slot.isFresh && slot.ageMs >= this.#settings.maxAgeMs) this.#leave(slot);
    }
  }

  #make(claim?: Claim<Item>): void {
    const order = claim?.create;
    const slot = new Slot<Item>(order !== undefined);
    this.#slots.add(slot);
    if (claim !== undefined && order !== undefined) {
      claim.slot = slot;
      slot.claim = claim;
      slot.sessionId = claim.sessionId;
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
    this.#tally.created += 1;
    setTimeout(() => this.#endured(slot), PROVEN_MS).unref();
    const ended = () => this.#ended(slot);
    item.ended.then(ended, ended);
    if (slot.state === "leaving") void this.#destroy(slot, item);
    else if (slot.claim !== undefined) this.#grant(slot.claim, slot);
    else this.#ready(slot, true);
  }

  /** What ends soon after it was made would only be followed by another such. */
  #endured(slot: Slot<Item>): void {
    if (slot.hasEnded || !this.#slots.has(slot)) return;
    this.#backoff.succeeded();
    this.#advance();
  }

  /** Whoever waited for this one hears why; it is still in its slot. */
  #makingFailed(slot: Slot<Item>, error: unknown): void {
    this.#tally.note(error);
    this.#backoff.failed(slot.begunAt);
    const claim = slot.claim ?? this.#whoWaitsFor(slot);
    if (claim !== undefined) this.#fail(claim, toSandboxError(error, "SANDBOX_START_FAILED"));
  }

  /** The first in line waits for what was begun first, and so on. */
  #whoWaitsFor(slot: Slot<Item>): Claim<Item> | undefined {
    const place = this.#slots.beingPrepared().indexOf(slot);
    return [...this.#queue].filter((claim) => claim.slot === undefined && claim.create === undefined)[place];
  }

  #ready(slot: Slot<Item>, isFresh: boolean): void {
    slot.state = "idle";
    slot.claim = undefined;
    slot.sessionId = undefined;
    slot.readyAt = ++this.#moment;
    slot.idleSince = performance.now();
    slot.isFresh = isFresh;
    this.#advance();
    slot.isFresh = false;
  }

  #check(claim: Claim<Item>, slot: Slot<Item>): void {
    const { item } = slot;
    if (item === undefined) return;
    if (slot.isFresh) return this.#grant(claim, slot);
    claim.slot = slot;
    slot.claim = claim;
    slot.state = "acquiring";
    withinTime("Checking a sandbox", this.#settings.healthTimeoutMs, () => item.isHealthy()).then(
      (isHealthy) => this.#checked(slot, isHealthy === true ? undefined : unhealthy()),
      (error: unknown) => this.#checked(slot, error),
    );
  }

  #checked(slot: Slot<Item>, failure: unknown): void {
    if (slot.state !== "acquiring") return;
    if (failure !== undefined) {
      this.#tally.note(failure);
      this.#leave(slot);
      return this.#advance();
    }
    const { claim } = slot;
    if (claim === undefined) return this.#ready(slot, false);
    // Somebody who came earlier may have lost theirs meanwhile.
    const first = [...this.#queue].find(
      (each) => each === claim || (each.slot === undefined && each.create === undefined),
    );
    claim.slot = undefined;
    this.#grant(first ?? claim, slot);
    this.#advance();
  }

  #grant(claim: Claim<Item>, slot: Slot<Item>): void {
    this.#queue.delete(claim);
    claim.slot = slot;
    slot.claim = claim;
    slot.sessionId = claim.sessionId;
    slot.state = "busy";
    slot.uses += 1;
    this.#backoff.succeeded();
    const wasReady = slot.readyAt > 0 && slot.readyAt < claim.askedAt;
    claim.grant(() => this.#lease(claim, slot, wasReady));
  }

  #lease(claim: Claim<Item>, { item }: Slot<Item>, wasReady: boolean): PoolLease<Item> {
    if (item === undefined) throw new SandboxError("INTERNAL", "The pool has lost an item");
    this.#tally[wasReady ? "hits" : "misses"] += 1;
    claim.leases += 1;
    let isHeld = true;
    const release = ({ reusable = true }: ReleaseOptions = {}) => {
      if (!isHeld) return;
      isHeld = false;
      claim.leases -= 1;
      if (!reusable) claim.reusable = false;
      if (claim.leases === 0) this.#released(claim);
    };
    const lease = { item, wasReady, release: async (options?: ReleaseOptions) => release(options) };
    this.#releases.set(lease, release);
    return lease;
  }

  #released(claim: Claim<Item>): void {
    const { slot } = claim;
    if (slot?.item === undefined || slot.claim !== claim || slot.state !== "busy") return;
    this.#forget(claim);
    if (this.#mayReset(slot)) this.#reset(slot, slot.item);
    else this.#leave(slot);
    this.#advance();
  }

  #mayReset({ item, claim, isMadeToOrder, uses, ageMs }: Slot<Item>): boolean {
    const { maxUses, maxAgeMs } = this.#settings;
    if (this.#isStopping || isMadeToOrder || claim?.reusable !== true) return false;
    return item?.reset !== undefined && uses <= maxUses && ageMs < maxAgeMs;
  }

  #reset(slot: Slot<Item>, item: Item): void {
    slot.state = "resetting";
    slot.claim = undefined;
    withinTime("Resetting a sandbox", this.#settings.resetTimeoutMs, async () => item.reset?.())
      .catch((error: unknown) => this.#tally.note(error))
      .then((isClean) => {
        if (slot.state !== "resetting") return;
        if (isClean === true) {
          this.#tally.resets += 1;
          return this.#ready(slot, false);
        }
        this.#leave(slot);
        this.#advance();
      });
  }

  #ended(slot: Slot<Item>): void {
    slot.hasEnded = true;
    if (slot.state === "leaving" || !this.#slots.has(slot)) return;
    this.#tally.note(endedByItself());
    // One that ends before anybody had it would be replaced by the next that does.
    if (slot.uses === 0) this.#backoff.failed(slot.begunAt);
    this.#leave(slot);
    this.#advance();
  }

  /** From here on it is nobody's, and counts until it is gone. */
  #leave(slot: Slot<Item>): void {
    if (slot.state === "leaving") return;
    const { claim, item } = slot;
    if (claim !== undefined && slot.state === "busy") this.#forget(claim);
    else if (claim !== undefined) claim.slot = undefined;
    slot.claim = undefined;
    slot.state = "leaving";
    slot.overdueTimer = setTimeout(() => {
      slot.isOverdue = true;
      this.#tally.note(tookTooLong("Removing a sandbox", this.#settings.destroyTimeoutMs));
      this.#tellIfEmpty();
      this.#advance();
    }, this.#settings.destroyTimeoutMs);
    if (!this.#isStopping) slot.overdueTimer.unref();
    if (item === undefined) slot.abandoned.abort();
    else void this.#destroy(slot, item);
  }

  /** Tries until it is gone: a slot that is given up would be lost, or filled beyond the maximum. */
  async #destroy(slot: Slot<Item>, item: Item): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await Promise.resolve().then(() => item.destroy());
        this.#tally.destroyed += 1;
        break;
      } catch (error) {
        this.#tally.note(error);
        await new Promise((resolve) => setTimeout(resolve, Math.min(30_000, 500 * 2 ** attempt)).unref());
      }
    }
    this.#free(slot);
  }

  #free(slot: Slot<Item>): void {
    clearTimeout(slot.overdueTimer);
    this.#slots.delete(slot);
    this.#tellIfEmpty();
    this.#advance();
  }

  #fail(claim: Claim<Item>, error: SandboxError): void {
    this.#forget(claim);
    claim.fail(error);
  }

  /** A caller has given up; the last one takes the claim along. */
  #left(claim: Claim<Item>): void {
    if (claim.waiting > 0) return;
    this.#forget(claim);
    const { slot } = claim;
    if (slot !== undefined) {
      slot.claim = undefined;
      if (slot.isMadeToOrder) this.#leave(slot);
    }
    this.#advance();
  }

  #forget(claim: Claim<Item>): void {
    this.#queue.delete(claim);
    const { sessionId } = claim;
    if (sessionId !== undefined && this.#sessions.get(sessionId) === claim) this.#sessions.delete(sessionId);
  }

  #tooLate(timeoutMs: number): SandboxError {
    this.#tally.timeouts += 1;
    return exhausted(timeoutMs, this.status());
  }

  #tellIfEmpty(): void {
    if ([...this.#slots].every((slot) => slot.isOverdue)) this.#emptied?.resolve();
  }
}
