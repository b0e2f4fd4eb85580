import { createDeferred } from "../../../kit/deferred.js";
import type { PoolItem, PoolLease } from "../../../runtime/pool/index.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { DirectoryFate, WorkspaceSlot } from "./start-request.js";

/** The session or call that has a sandbox of the pool now. */
export interface Tenant {
  /** Left out: the pool is still to hand it over. */
  readonly lease?: PoolLease<PooledSandbox>;
  /** Called once, when the tenant has lost the sandbox. */
  readonly onStopped: (sandbox: RunningSandbox) => DirectoryFate;
}

/** A sandbox that the pool counts: without a tenant at first, then with one. */
export class PooledSandbox implements PoolItem {
  /** Left out: it is destroyed after its first use. */
  reset?: () => Promise<boolean>;
  tenant: Tenant | undefined;
  readonly #ended = createDeferred<void>();
  readonly #abandoned = new AbortController();
  #sandbox: RunningSandbox | undefined;
  #slot: WorkspaceSlot | undefined;
  #resetting: Promise<unknown> | undefined;
  #isRetiring = false;

  constructor(readonly id: string) {}

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get sandbox(): RunningSandbox | undefined {
    return this.#sandbox;
  }

  /** Left out: it was made to order, and is its tenant's from the start. */
  get slot(): WorkspaceSlot | undefined {
    return this.#slot;
  }

  /** Aborted when the pool has no use for it any more. */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  holds(sandbox: RunningSandbox, slot?: WorkspaceSlot): void {
    this.#sandbox = sandbox;
    this.#slot = slot;
  }

  /** To be called when its sandbox has stopped. */
  stopped(sandbox: RunningSandbox): DirectoryFate {
    const { tenant } = this;
    this.tenant = undefined;
    // First: a sandbox that its tenant stops has not ended by itself.
    if (!this.#isRetiring) void tenant?.lease?.release({ reusable: false });
    const fate = tenant?.onStopped(sandbox) ?? "removed";
    if (this.#isRetiring) return "kept";
    this.#ended.resolve();
    return fate;
  }

  async isHealthy(): Promise<boolean> {
    return (await this.#sandbox?.isHealthy()) === true;
  }

  /** Makes it reusable: `renew` makes another sandbox of its instance, or throws and leaves nothing. */
  offerReset(
    renew: (used: {
      readonly instance: NonNullable<Awaited<ReturnType<RunningSandbox["retire"]>>>;
      readonly slot: WorkspaceSlot;
    }) => Promise<void>,
    discard: (slot: WorkspaceSlot) => Promise<void>,
  ): void {
    const reset = async () => {
      const slot = this.#slot;
      if (slot === undefined || this.abandoned.aborted) return false;
      this.#isRetiring = true;
      const instance = await this.#sandbox
        ?.retire()
        .catch(async (error: unknown) => {
          await discard(slot);
          throw error;
        })
        .finally(() => {
          this.#isRetiring = false;
        });
      if (instance === undefined) return false;
      await renew({ instance, slot });
      return true;
    };
    this.reset = () => {
      const resetting = reset();
      this.#resetting = resetting;
      return resetting;
    };
  }

  async destroy(): Promise<void> {
    this.#abandoned.abort();
    // What comes of a reset that is under way has to go as well.
    await this.#resetting?.catch(() => undefined);
    await this.#sandbox?.ensureStopped();
  }
}
