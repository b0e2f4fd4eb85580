import { createDeferred, type Deferred } from "../../kit/deferred.js";
import type { SandboxError } from "../../kit/errors.js";
import { cancelled } from "./pool-errors.js";
import type { PoolItem } from "./pool-item.js";
import type { AcquireRequest, PoolLease } from "./pool-lease.js";
import type { Slot } from "./slot.js";

interface Caller<Item extends PoolItem> {
  readonly lease: Deferred<PoolLease<Item>>;
  /** Stops waiting for its deadline and its signal. */
  forget(): void;
}

/**
 * One item that is wanted, and later held: by one caller, or by all who name the same session. It keeps its place in the
 * queue while at least one caller waits.
 */
export class Claim<Item extends PoolItem> {
  readonly sessionId: string | undefined;
  readonly create: AcquireRequest<Item>["create"];
  /** The item that is being made or checked for it, or that it holds. */
  slot: Slot<Item> | undefined;
  /** How many hold it. */
  leases = 0;
  /** Nobody has said that it must not be used again. */
  reusable = true;
  readonly #callers = new Set<Caller<Item>>();

  constructor(
    { sessionId, create }: AcquireRequest<Item>,
    /** A number that grows with every claim and every item that becomes ready. */
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
    // Somebody waits for this: it may keep the process alive.
    const timer = setTimeout(() => giveUp(tooLate()), timeoutMs);
    signal?.addEventListener("abort", cancel, { once: true });
    const caller: Caller<Item> = {
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

  #takeCallers(): Caller<Item>[] {
    const callers = [...this.#callers];
    this.#callers.clear();
    for (const caller of callers) caller.forget();
    return callers;
  }
}
