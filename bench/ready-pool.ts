import { setTimeout as sleep } from "node:timers/promises";
import { PoolManager, type SandboxManager } from "skerry";
import type { PoolStatus } from "skerry/manager";
import type { BenchContext } from "./bench-context.js";

/** So many sandboxes are kept ready, and twice as many may exist. */
export const READY = 2;
const AT_REST_MS = 60_000;

/** A pool with Python in its sandboxes, and the manager it belongs to. */
export class ReadyPool {
  readonly manager: SandboxManager;
  readonly #bench: BenchContext;
  readonly #pool: PoolManager;

  constructor(bench: BenchContext, backend: string) {
    this.#bench = bench;
    this.#pool = new PoolManager({
      backend,
      minInstances: READY,
      maxInstances: 2 * READY,
      preload: ["python"],
    });
    this.manager = bench.manager({ pool: this.#pool });
  }

  get status(): PoolStatus {
    return this.#pool.status();
  }

  /** Resolves when enough are ready and nothing is going on; there may be more: what was reset comes on top. */
  async rest(): Promise<void> {
    const deadline = performance.now() + AT_REST_MS;
    for (;;) {
      const { idle, instances, lastFailure } = this.status;
      if (idle >= READY && idle === instances.length) return;
      if (performance.now() > deadline) {
        throw new Error(`the pool does not come to rest: ${lastFailure?.message ?? `${idle} are idle`}`);
      }
      await sleep(5, undefined, { signal: this.#bench.signal });
    }
  }
}
