/** Something that is counted. */
export interface CountedRow {
  count: number;
}

/**
 * Rows by key, the largest of which are kept: memory does not grow with how many keys there are. What stays has counted
 * since it was last left out, so a row that comes and goes may be told with less than it has.
 */
export class TopRows<Row extends CountedRow> {
  readonly #rows = new Map<string, Row>();
  readonly #create: () => Row;
  readonly #most: number;
  #hasLeftOut = false;

  constructor(create: () => Row, most = 2000) {
    this.#create = create;
    this.#most = most;
  }

  /** True when there were more keys than are kept. */
  get hasLeftOut(): boolean {
    return this.#hasLeftOut;
  }

  /** The row of a key, counted once more. */
  count(key: string, times = 1): Row {
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = this.#create();
      this.#rows.set(key, row);
    }
    row.count += times;
    if (this.#rows.size > this.#most) this.#leaveOut();
    return row;
  }

  /** The largest first, at most so many. */
  top(most = this.#most): (Row & { readonly key: string })[] {
    return this.#sorted()
      .slice(0, most)
      .map(([key, row]) => ({ key, ...row }));
  }

  #leaveOut(): void {
    this.#hasLeftOut = true;
    for (const [key] of this.#sorted().slice(this.#most / 2)) this.#rows.delete(key);
  }

  #sorted(): [string, Row][] {
    return [...this.#rows].sort(([a, one], [b, other]) => other.count - one.count || (a < b ? -1 : 1));
  }
}
