/** Something dear that the pool keeps ready: in Skerry a running sandbox. The pool knows nothing else about it. */
export interface PoolItem {
  /** Unique, for people. */
  readonly id: string;
  /** Asked before it is handed out; false or a failure: it is destroyed, and another one is taken. */
  isHealthy(): Promise<boolean>;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;
  /**
   * Makes it as good as new for another caller. False: it cannot be, and has to be destroyed. A failure is the same.
   * Left out: never.
   */
  reset?(): Promise<boolean>;
  /** Removes every trace. Idempotent. */
  destroy(): Promise<void>;
}

/** Where the pool's items come from. */
export interface PoolSource<Item extends PoolItem> {
  /** A prepared one for any caller. Leaves nothing behind when it throws. */
  create(signal: AbortSignal): Promise<Item>;
}

/** Told once each: when a pool begins, and when it is over. */
export interface PoolWatcher {
  began?(): void;
  over?(): Promise<void>;
}
