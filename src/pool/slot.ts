import type { Claim } from "./claim.js";
import type { PoolItem } from "./pool-item.js";
import type { PoolInstance, PoolState } from "./pool-lease.js";

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

  /** Those that are being made for nobody in particular. */
  beingPrepared(): Slot<Item>[] {
    return [...this].filter((slot) => slot.isBeingMade && !slot.isMadeToOrder);
  }

  /** What is idle beyond the minimum, as after resets: those that nobody has had for longest. */
  surplus({ minInstances }: { readonly minInstances: number }): Slot<Item>[] {
    const idle = this.inState("idle").sort((a, b) => a.readyAt - b.readyAt);
    return idle.slice(0, Math.max(0, idle.length - minInstances));
  }

  /** The session's last item is on its way out. */
  isStillLeaving(sessionId: string | undefined): boolean {
    if (sessionId === undefined) return false;
    return this.inState("leaving").some((slot) => slot.sessionId === sessionId && !slot.isOverdue);
  }
}
