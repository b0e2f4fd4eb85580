const MINUTE_MS = 60_000;
const MINUTES = 60;
/** What is counted beyond the most kinds of a minute. */
const OTHERS = "others";

/** Counts of the last hour, in memory that does not grow with what is counted. */
export class RecentCounts {
  readonly #minutes: { at: number; counts: Map<string, number> }[] = [];

  /** At most so many kinds in a minute are told apart. */
  constructor(
    private readonly maxKinds: number = 200,
    private readonly now: () => number = () => performance.now(),
  ) {}

  add(kind: string, count = 1): void {
    if (!(count > 0)) return;
    const { counts } = this.#current();
    const known = counts.has(kind) || counts.size < this.maxKinds ? kind : OTHERS;
    counts.set(known, (counts.get(known) ?? 0) + count);
  }

  /** By kind, the most first. */
  totals(): [kind: string, count: number][] {
    this.#forgetOld();
    const sums = new Map<string, number>();
    for (const { counts } of this.#minutes)
      for (const [kind, count] of counts) sums.set(kind, (sums.get(kind) ?? 0) + count);
    return [...sums].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  }

  of(kind: string): number {
    this.#forgetOld();
    return this.#minutes.reduce((sum, { counts }) => sum + (counts.get(kind) ?? 0), 0);
  }

  #current() {
    const at = Math.floor(this.now() / MINUTE_MS);
    const last = this.#minutes.at(-1);
    if (last?.at === at) return last;
    const fresh = { at, counts: new Map<string, number>() };
    this.#minutes.push(fresh);
    this.#forgetOld();
    return fresh;
  }

  #forgetOld(): void {
    const oldest = Math.floor(this.now() / MINUTE_MS) - MINUTES;
    while (this.#minutes.length > 0 && this.#minutes[0]!.at <= oldest) this.#minutes.shift();
  }
}
