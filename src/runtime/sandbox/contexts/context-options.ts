/** How one piece of code runs. */
export interface ContextRunOptions {
  /** Left out: the sandbox's. Code that is still running then is interrupted; if it does not end, the context does. */
  readonly timeoutMs?: number | undefined;
  /** Interrupts it, as `interrupt` does. */
  readonly signal?: AbortSignal | undefined;
  /** Code that prints more is interrupted. Left out: the sandbox's, or no limit when streaming. */
  readonly maxOutputBytes?: number | undefined;
  /** What all results of one run may have together; larger ones are left out. Default 16 MiB. */
  readonly maxResultBytes?: number | undefined;
}

/** A saved state of a context. It lives in the sandbox, counts against its limits, and goes with the context. */
export interface Checkpoint {
  readonly id: string;
  readonly createdAt: Date;
  /** The workspace's snapshot that was taken with it, where that was asked for. */
  readonly snapshotId?: string;
}

export interface CheckpointOptions {
  /** Also keep the workspace's files, for `rollback` to bring back. */
  readonly files?: boolean;
}
