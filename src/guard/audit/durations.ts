/** Each is a fifth above the one before: what is read from them is right to within that. */
const STEP = 1.2;

/** Durations, of which some quantiles are wanted: in memory that does not grow with how many there are. */
export class Durations {
  readonly #buckets = new Map<number, number>();
  #count = 0;
  #max = 0;

  add(ms: number): void {
    if (!Number.isFinite(ms) || ms < 0) return;
    const bucket = Math.ceil(Math.log(Math.max(1, ms)) / Math.log(STEP));
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
    this.#count++;
    this.#max = Math.max(this.#max, ms);
  }

  /** So many milliseconds or less took half of them, and the longest; undefined: there were none. */
  describe(): { readonly halfWithinMs: number; readonly longestMs: number } | undefined {
    if (this.#count === 0) return undefined;
    let seen = 0;
    for (const [bucket, count] of [...this.#buckets].sort(([a], [b]) => a - b)) {
      seen += count;
      if (seen >= this.#count / 2)
        return { halfWithinMs: Math.min(this.#max, Math.round(STEP ** bucket)), longestMs: this.#max };
    }
    return undefined;
  }
}
