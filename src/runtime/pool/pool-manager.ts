import { SandboxError } from "../../kit/errors.js";
import { BoundPool } from "./bound-pool.js";
import type { PoolItem, PoolSource } from "./pool-item.js";
import type { AcquireRequest, PoolLease, PoolStatus, ReleaseOptions } from "./pool-lease.js";
import { checkOptionNames, type PoolOptions, type PoolSettings, resolveSettings } from "./pool-options.js";
import type { PoolHome } from "./pool-socket.js";

/** Keeps sandboxes ready for one `SandboxManager`, which binds it. */
export class PoolManager {
  readonly options: PoolOptions;
  readonly #settings: PoolSettings;
  #pool: BoundPool<PoolItem> | undefined;
  #stopped = false;

  constructor(options: PoolOptions = {}) {
    checkOptionNames(options);
    this.options = options;
    this.#settings = resolveSettings(options);
  }

  /** Says where the sandboxes come from, once. What it returns knows their type. @internal */
  bind<Item extends PoolItem>(source: PoolSource<Item>, home?: PoolHome): BoundPool<Item> {
    if (this.#pool !== undefined || this.#stopped) {
      throw new SandboxError("INVALID_ARGUMENT", "This pool belongs to a manager already", {
        hint: "Make one PoolManager for each SandboxManager.",
      });
    }
    const pool = new BoundPool(source, this.#settings, home);
    this.#pool = pool as unknown as BoundPool<PoolItem>;
    return pool;
  }

  /** Begins to prepare sandboxes in the background. */
  start(): void {
    this.#bound().start();
  }

  async acquire(request?: AcquireRequest): Promise<PoolLease> {
    return this.#bound().acquire(request);
  }

  /** The same as the lease's own `release`; refuses what was never acquired here. */
  async release(lease: PoolLease, options?: ReleaseOptions): Promise<void> {
    return this.#bound().release(lease, options);
  }

  status(): PoolStatus {
    return this.#bound().status();
  }

  /** Refuses who comes and who waits; resolves when every sandbox of it is gone. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#pool?.stop();
  }

  /** The same, as everything is closed. */
  close(): Promise<void> {
    return this.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #bound(): BoundPool<PoolItem> {
    if (this.#pool !== undefined) return this.#pool;
    throw new SandboxError("INVALID_ARGUMENT", "This pool belongs to no manager yet", {
      hint: "Give it to one: new SandboxManager({ pool })",
    });
  }
}
