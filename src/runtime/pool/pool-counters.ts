import { toSandboxError } from "../../kit/errors.js";
import type { PoolFailure } from "./pool-lease.js";

/** What has happened in a pool since it began. */
export class PoolCounters {
  hits = 0;
  misses = 0;
  created = 0;
  failures = 0;
  resets = 0;
  destroyed = 0;
  timeouts = 0;
  lastTimeoutAt: Date | undefined;
  lastFailure: PoolFailure | undefined;

  note(error: unknown): void {
    const { code, message } = toSandboxError(error);
    this.failures += 1;
    this.lastFailure = { at: new Date(), code, message };
  }

  /** A request timed out. */
  noteTimeout(): void {
    this.timeouts += 1;
    this.lastTimeoutAt = new Date();
  }

  describe() {
    const { hits, misses, created, failures, resets, destroyed, timeouts, lastFailure, lastTimeoutAt } = this;
    return {
      ...{ hits, misses, created, failures, resets, destroyed, timeouts },
      ...(lastFailure !== undefined && { lastFailure }),
      ...(lastTimeoutAt !== undefined && { lastTimeoutAt }),
    };
  }
}
