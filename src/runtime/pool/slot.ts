import { createDeferred, type Deferred } from "../../kit/deferred.js";
import type { SandboxError } from "../../kit/errors.js";
import { cancelled } from "./pool-errors.js";
import type { PoolItem } from "./pool-item.js";
import type { AcquireRequest, PoolInstance, PoolLease, PoolState } from "./pool-lease.js";
import type { PoolSettings } from "./pool-options.js";

/** A place for one item, from the moment it is begun until nothing of it is left. */
export class Slot<Item extends PoolItem> {
  state: PoolState = "acquiring";
  /** Undefined: not made yet. */
  item: Item | undefined;
  /** The request that holds it, or for which it is made or checked. */
  request: PoolRequest<Item> | undefined;
  /** The session that had it last. */
  sessionId: string | undefined;
  uses = 0;
  /** When it became ready, in the numbers of `PoolRequest.askedAt`. */
  readyAt = 0;
  idleSince = 0;
  /** It has been made in this very turn: there is nothing to check. */
  isFresh = false;
  hasEnded = false;
  /** It should have been gone by now. */
  isOverdue = false;
  overdueTimer: NodeJS.Timeout | undefined;
  readonly begunAt = performance.now();
  madeAt = this.begunAt;
  readonly abandoned = new AbortController();

  constructor(readonly isMadeToOrder: boolean) {}

  get ageMs(): number {
    return performance.now() - this.madeAt;
  }

  get idleMs(): number {
    return performance.now() - this.idleSince;
  }

  get isBeingMade(): boolean {
    return this.state === "acquiring" && this.item === undefined;
  }

  /** What is released can be made as good as new, and is worth it. */
  mayBeReset({ maxUses, maxAgeMs }: Pick<PoolSettings, "maxUses" | "maxAgeMs">): boolean {
    if (this.isMadeToOrder || this.request?.reusable !== true) return false;
    return this.item?.reset !== undefined && this.uses <= maxUses && this.ageMs < maxAgeMs;
  }

  describe(): PoolInstance {
    return {
      ...(this.item !== undefined && { id: this.item.id }),
      state: this.state,
      ageMs: Math.round(this.ageMs),
      uses: this.uses,
      ...(this.sessionId !== undefined && { sessionId: this.sessionId }),
    };
  }
}

/** Every slot of a pool, in the order in which they were begun. */
export class Slots<Item extends PoolItem> extends Set<Slot<Item>> {
  inState(state: PoolState): Slot<Item>[] {
    return [...this].filter((slot) => slot.state === state);
  }

  counts(): Record<PoolState, number> {
    const counts = { idle: 0, acquiring: 0, busy: 0, resetting: 0, leaving: 0 };
    for (const { state } of this) counts[state] += 1;
    return counts;
  }

  /** Spare ones that are being made. */
  beingPrepared(): Slot<Item>[] {
    return [...this].filter((slot) => slot.isBeingMade && !slot.isMadeToOrder);
  }

  /** What has been idle until it was too old. */
  tooOld({ maxAgeMs }: Pick<PoolSettings, "maxAgeMs">): Slot<Item>[] {
    return this.inState("idle").filter((slot) => !slot.isFresh && slot.ageMs >= maxAgeMs);
  }

  /** What has been idle beyond the minimum for a while, as after resets. */
  tooMany(settings: Pick<PoolSettings, "minInstances" | "surplusMs">): Slot<Item>[] {
    return this.#surplus(settings).filter((slot) => slot.idleMs >= settings.surplusMs);
  }

  /** How long until what is idle now is too old, or has been too many for long enough. */
  timesLeft(settings: Pick<PoolSettings, "minInstances" | "surplusMs" | "maxAgeMs">): number[] {
    return [
      ...this.inState("idle").map((slot) => settings.maxAgeMs - slot.ageMs),
      ...this.#surplus(settings).map((slot) => settings.surplusMs - slot.idleMs),
    ];
  }

  /** Those that have been idle for longest. */
  #surplus({ minInstances }: Pick<PoolSettings, "minInstances">): Slot<Item>[] {
    const idle = this.inState("idle").sort((a, b) => a.readyAt - b.readyAt);
    return idle.slice(0, Math.max(0, idle.length - minInstances));
  }

  /** The session's last item is being removed. */
  isStillLeaving(sessionId: string | undefined): boolean {
    if (sessionId === undefined) return false;
    return this.inState("leaving").some((slot) => slot.sessionId === sessionId && !slot.isOverdue);
  }
}

interface Waiter<Item extends PoolItem> {
  readonly lease: Deferred<PoolLease<Item>>;
  /** Stops waiting for its deadline and its signal. */
  forget(): void;
}

/**
 * One item that is wanted, and later held: by one caller, or by all who name the same session. It keeps its place in the
 * queue while at least one caller waits.
 */
export class PoolRequest<Item extends PoolItem> {
  readonly sessionId: string | undefined;
  readonly create: AcquireRequest<Item>["create"];
  /** The item that is being made or checked for it, or that it holds. */
  slot: Slot<Item> | undefined;
  /** How many hold it. */
  leases = 0;
  /** No caller has said that it must not be used again. */
  reusable = true;
  readonly #callers = new Set<Waiter<Item>>();

  constructor(
    { sessionId, create }: AcquireRequest<Item>,
    /** A number that grows with every request and every item that becomes ready. */
    readonly askedAt: number,
  ) {
    this.sessionId = sessionId;
    this.create = create;
  }

  get waiting(): number {
    return this.#callers.size;
  }

  /** One more caller. `left` is called when one gave up. */
  wait(
    { signal, timeoutMs }: { readonly signal: AbortSignal | undefined; readonly timeoutMs: number },
    tooLate: () => SandboxError,
    left: () => void,
  ): Promise<PoolLease<Item>> {
    const giveUp = (error: SandboxError) => {
      if (!this.#callers.delete(caller)) return;
      caller.forget();
      caller.lease.reject(error);
      left();
    };
    const cancel = () => giveUp(cancelled(signal?.reason));
    // A caller awaits this: it may keep the process alive.
    const timer = setTimeout(() => giveUp(tooLate()), timeoutMs);
    signal?.addEventListener("abort", cancel, { once: true });
    const caller: Waiter<Item> = {
      lease: createDeferred(),
      forget: () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
      },
    };
    this.#callers.add(caller);
    return caller.lease.promise;
  }

  /** Every caller gets a lease of its own. */
  grant(lease: () => PoolLease<Item>): void {
    for (const caller of this.#takeCallers()) caller.lease.resolve(lease());
  }

  fail(error: SandboxError): void {
    for (const caller of this.#takeCallers()) caller.lease.reject(error);
  }

  #takeCallers(): Waiter<Item>[] {
    const callers = [...this.#callers];
    this.#callers.clear();
    for (const caller of callers) caller.forget();
    return callers;
  }
}
