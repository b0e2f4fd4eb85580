import type { Config } from "../config/index.js";
import type { Sandbox } from "../sandbox/sandbox.js";

/** What may have been idle for too long, or be too old. */
export interface Expiring {
  readonly startedAt: number;
  readonly sandbox: Promise<Sandbox>;
  /** Tool calls that use it now: then it is not idle. */
  readonly leases: number;
}

/** Stops sandboxes that nobody has used for a while, and those that are too old. */
export class SandboxExpiry {
  readonly #runtime: Pick<Config["sandbox"]["runtime"], "idleTimeoutMs" | "maxAgeMs">;
  readonly #running: () => readonly Expiring[];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    runtime: Pick<Config["sandbox"]["runtime"], "idleTimeoutMs" | "maxAgeMs">,
    running: () => readonly Expiring[],
  ) {
    this.#runtime = runtime;
    this.#running = running;
  }

  /** Looks from now on, where something can expire. Keeps no process alive. */
  watch(): void {
    const { idleTimeoutMs, maxAgeMs } = this.#runtime;
    const shortest = Math.min(
      idleTimeoutMs ?? Number.POSITIVE_INFINITY,
      maxAgeMs ?? Number.POSITIVE_INFINITY,
    );
    if (this.#timer !== undefined || !Number.isFinite(shortest)) return;
    this.#timer = setInterval(() => this.#expire(), Math.max(50, Math.min(shortest / 4, 30_000)));
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #expire(): void {
    const { idleTimeoutMs, maxAgeMs } = this.#runtime;
    const now = Date.now();
    for (const entry of this.#running()) {
      entry.sandbox
        .then((sandbox) => {
          const mayBeIdle = entry.leases === 0 && idleTimeoutMs !== null;
          const idle = mayBeIdle && now - sandbox.lastUsedAt >= idleTimeoutMs;
          const old = maxAgeMs !== null && now - entry.startedAt >= maxAgeMs;
          return idle || old ? sandbox.stop() : undefined;
        })
        // A failed start is its caller's to hear of, a failed stop the next caller's.
        .catch(() => undefined);
    }
  }
}
