import { SandboxError } from "../../kit/errors.js";
import type { PoolItem } from "./pool-item.js";
import type { PoolLease, ReleaseOptions } from "./pool-lease.js";
import type { PoolRequest, Slot } from "./slot.js";

/** Every lease that was handed out, and who holds what. */
export class LeaseRegistry<Item extends PoolItem> {
  readonly #releases = new WeakMap<PoolLease<Item>, (options?: ReleaseOptions) => void>();

  constructor(
    /** Called when the last holder of an item has released it. */
    private readonly released: (request: PoolRequest<Item>) => void,
  ) {}

  /** One more holder of the request's item. */
  issue(request: PoolRequest<Item>, { item }: Slot<Item>, wasReady: boolean): PoolLease<Item> {
    if (item === undefined) throw new SandboxError("INTERNAL", "The pool has lost an item");
    request.leases += 1;
    let isHeld = true;
    const release = ({ reusable = true }: ReleaseOptions = {}) => {
      if (!isHeld) return;
      isHeld = false;
      request.leases -= 1;
      if (!reusable) request.reusable = false;
      if (request.leases === 0) this.released(request);
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
      hint: "Release the lease that was acquired.",
    });
  }
}
