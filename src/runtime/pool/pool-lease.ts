import type { ErrorCode } from "../../kit/errors.js";
import type { PoolItem } from "./pool-item.js";

export interface AcquireRequest<Item extends PoolItem = PoolItem> {
  /** While an item is held or on its way for this session, everybody who names it gets that one. */
  readonly sessionId?: string;
  /** Made to order: no prepared one fits. Leaves nothing behind when it throws. Such an item is never reset. */
  readonly create?: (signal: AbortSignal) => Promise<Item>;
  readonly signal?: AbortSignal;
  /** Left out: the pool's. */
  readonly timeoutMs?: number;
}

export interface ReleaseOptions {
  /** False: never reset, always destroyed. */
  readonly reusable?: boolean;
}

/** The right to use an item, until it is released. */
export interface PoolLease<Item extends PoolItem = PoolItem> {
  readonly item: Item;
  /** It was prepared before it was asked for. */
  readonly wasReady: boolean;
  /** Idempotent. Resolves when the item is no longer the caller's, not when it has been reset. */
  release(options?: ReleaseOptions): Promise<void>;
}

/** `acquiring`: being started, or checked before it is handed out. `leaving`: being destroyed. */
export type PoolState = "idle" | "acquiring" | "busy" | "resetting" | "leaving";

export interface PoolInstance {
  /** Left out while it is being started. */
  readonly id?: string;
  readonly state: PoolState;
  readonly ageMs: number;
  /** How often it was handed out. */
  readonly uses: number;
  readonly sessionId?: string;
}

export interface PoolFailure {
  readonly at: Date;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface PoolStatus extends Readonly<Record<PoolState, number>> {
  /** Callers. */
  readonly waiting: number;
  readonly minInstances: number;
  readonly maxInstances: number;
  /** Hand-outs of what was ready, and of what was not. */
  readonly hits: number;
  readonly misses: number;
  readonly created: number;
  /** Starts, checks, resets and removals that failed, and items that ended by themselves. */
  readonly failures: number;
  readonly resets: number;
  readonly destroyed: number;
  /** Requests that timed out. */
  readonly timeouts: number;
  readonly lastTimeoutAt?: Date;
  readonly instances: readonly PoolInstance[];
  readonly lastFailure?: PoolFailure;
  /** The source fails; it is asked again in the background at this time. */
  readonly nextAttemptAt?: Date;
}
