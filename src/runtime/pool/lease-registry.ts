import { SandboxError } from "../../kit/errors.js";
import type { PoolItem } from "./pool-item.js";
import type { PoolLease, ReleaseOptions } from "./pool-lease.js";
import type { PoolRequest, Slot } from "./slot.js";

/** Every lease that was handed out, and who holds what. */
export class LeaseRegistry<Item extends PoolItem> {
  readonly #releases = new WeakMap<PoolLease<Item>, (options?: ReleaseOptions) => void>();
  /** Called when the last holder of an item has released it. */
  readonly #released: (claim: PoolRequest<Item>) => void;

  constructor(released: (claim: PoolRequest<Item>) => void) {
    this.#released = released;
  }

  /** One more holder of the claim's item. */
  issue(claim: PoolRequest<Item>, { item }: Slot<Item>, wasReady: boolean): PoolLease<Item> {
    if (item === undefined) throw new SandboxError("INTERNAL", "The pool has lost an item");
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

  /** Refuses what was not issued here. */
  release(lease: PoolLease<Item>, options: ReleaseOptions | undefined): void {
    const release = this.#releases.get(lease);
    if (release !== undefined) return release(options);
    throw new SandboxError("INVALID_ARGUMENT", "This was never acquired from this pool", {
      hint: "Release the lease that acquire() resolved to.",
    });
  }
}
