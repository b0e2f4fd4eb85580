import type { PoolCounters } from "./pool-counters.js";
import { tookTooLong } from "./pool-errors.js";
import type { PoolItem } from "./pool-item.js";
import type { Slot } from "./slot.js";

const LONGEST_WAIT_MS = 30_000;

export interface DisposalOptions<Item extends PoolItem> {
  readonly counters: PoolCounters;
  readonly timeoutMs: number;
  /** Called when one should have been gone by now; it still counts. */
  readonly overdue: () => void;
  /** Called when nothing is left of one. */
  readonly gone: (slot: Slot<Item>) => void;
}

/** Removes what the pool has no use for: once each, and until it is gone. */
export class Disposal<Item extends PoolItem> {
  constructor(private readonly options: DisposalOptions<Item>) {}

  /** The slot is leaving. An item that is still being made is destroyed once it is there. */
  begin(slot: Slot<Item>, keepsProcessAlive: boolean): void {
    const { counters, timeoutMs, overdue } = this.options;
    slot.overdueTimer = setTimeout(() => {
      slot.isOverdue = true;
      counters.note(tookTooLong("Removing a sandbox", timeoutMs));
      overdue();
    }, timeoutMs);
    if (!keepsProcessAlive) slot.overdueTimer.unref();
    if (slot.item === undefined) slot.abandoned.abort();
    else void this.destroy(slot, slot.item);
  }

  /** Tries until it is gone: a slot that is given up would be lost, or filled beyond the maximum. */
  async destroy(slot: Slot<Item>, item: Item): Promise<void> {
    const { counters, gone } = this.options;
    for (let attempt = 0; ; attempt += 1) {
      try {
        await Promise.resolve().then(() => item.destroy());
        counters.destroyed += 1;
        break;
      } catch (error) {
        counters.note(error);
        const waitMs = Math.min(LONGEST_WAIT_MS, 500 * 2 ** attempt);
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
    }
    gone(slot);
  }
}
