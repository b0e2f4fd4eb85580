import type { ControlSocket } from "../../kit/control-socket.js";
import { Pool } from "./pool.js";
import { PoolCounters } from "./pool-counters.js";
import type { PoolItem, PoolSource } from "./pool-item.js";
import type { AcquireRequest, PoolLease, PoolStatus, ReleaseOptions } from "./pool-lease.js";
import type { PoolSettings } from "./pool-options.js";
import { openPoolSocket, type PoolHome } from "./pool-socket.js";

/** A pool bound to its factory: it can be emptied, and starts again with the next request. */
export class BoundPool<Item extends PoolItem> {
  /** Of all that it ever did. */
  readonly #counters = new PoolCounters();
  #pool: Pool<Item>;
  #clearing: Promise<void> | undefined;

  constructor(
    private readonly source: PoolSource<Item>,
    private readonly settings: PoolSettings,
    private readonly home: PoolHome | undefined,
  ) {
    this.#pool = this.#make();
  }

  /** Begins to prepare items in the background. */
  start(): void {
    this.#pool.start();
  }

  async acquire(request?: AcquireRequest<Item>): Promise<PoolLease<Item>> {
    // Until the old ones are gone, new ones would be more than the maximum.
    if (this.#clearing !== undefined) await this.#clearing.catch(() => undefined);
    return this.#pool.acquire(request);
  }

  async release(lease: PoolLease<Item>, options?: ReleaseOptions): Promise<void> {
    return this.#pool.release(lease, options);
  }

  status(): PoolStatus {
    return this.#pool.status();
  }

  /** Refuses waiting requests; resolves when every item is gone. The next request starts it again. */
  clear(): Promise<void> {
    this.#clearing ??= this.#pool.stop().finally(() => {
      this.#pool = this.#make();
      this.#clearing = undefined;
    });
    return this.#clearing;
  }

  /** Refuses new and waiting requests; resolves when every item is gone. */
  async stop(): Promise<void> {
    await this.#clearing;
    await this.#pool.stop();
  }

  #make(): Pool<Item> {
    let socket: Promise<ControlSocket | undefined> | undefined;
    const began = () => {
      // A pool without a control socket still works.
      if (this.home !== undefined)
        socket = openPoolSocket(this.home, () => pool.status()).catch(() => undefined);
    };
    const over = async () => (await socket)?.close();
    const pool: Pool<Item> = new Pool(this.source, this.settings, { began, over }, this.#counters);
    return pool;
  }
}
