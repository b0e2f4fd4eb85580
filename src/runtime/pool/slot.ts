import type { PoolItem } from "./pool-item.js";
import type { PoolInstance, PoolState } from "./pool-lease.js";
import type { PoolSettings } from "./pool-options.js";
import type { Claim } from "./pool-request.js";

/** A place for one item, from the moment it is begun until nothing of it is left. */
export class Slot<Item extends PoolItem> {
  state: PoolState = "acquiring";
  /** Undefined: not made yet. */
  item: Item | undefined;
  /** Whose it is, or for whom it is made or checked. */
  claim: Claim<Item> | undefined;
  /** The session that had it last. */
  sessionId: string | undefined;
  uses = 0;
  /** When it became ready, in the numbers of `Claim.askedAt`. */
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
    if (this.isMadeToOrder || this.claim?.reusable !== true) return false;
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

  /** Those that are being made for nobody in particular. */
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

  /** Those that nobody has had for longest. */
  #surplus({ minInstances }: Pick<PoolSettings, "minInstances">): Slot<Item>[] {
    const idle = this.inState("idle").sort((a, b) => a.readyAt - b.readyAt);
    return idle.slice(0, Math.max(0, idle.length - minInstances));
  }

  /** The session's last item is on its way out. */
  isStillLeaving(sessionId: string | undefined): boolean {
    if (sessionId === undefined) return false;
    return this.inState("leaving").some((slot) => slot.sessionId === sessionId && !slot.isOverdue);
  }
}
