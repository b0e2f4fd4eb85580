const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/** When to retry something that fails: later each time, and with jitter, so that not all retry at once. */
export class Backoff {
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #nextAt = Number.NEGATIVE_INFINITY;

  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** How long to wait from now; 0: retry at once. */
  get remainingMs(): number {
    return Math.max(0, this.#nextAt - performance.now());
  }

  /** An attempt begun then has failed. One begun before the last failure was known does not count again. */
  failed(begunAt: number): void {
    if (begunAt < this.#failedAt) return;
    const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#failedAt = performance.now();
    this.#nextAt = this.#failedAt + longest * (0.5 + Math.random() / 2);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#nextAt = Number.NEGATIVE_INFINITY;
  }
}
