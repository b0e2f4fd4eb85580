/** Output that is kept in memory. */
export interface OutputBuffer {
  /** In bytes. */
  readonly capacity: number;
  /** Drops the oldest output that no longer fits. */
  resize(capacity: number): void;
}

/** Less than a quarter more is not worth the copy. */
const WORTH_GROWING = 1.25;

/**
 * The memory of all kept outputs of an org. Outputs that have ended shrink first, the oldest first; running ones then
 * share the rest.
 */
export class OutputBudget {
  readonly #running = new Set<OutputBuffer>();
  /** In the order in which they ended. */
  readonly #ended = new Set<OutputBuffer>();
  #used = 0;

  constructor(private readonly most: number) {}

  get used(): number {
    return this.#used;
  }

  /** Counts one that grows. */
  begin(buffer: OutputBuffer): void {
    this.#running.add(buffer);
    this.#used += buffer.capacity;
  }

  /** It grows no more, and needs no more than this; one that was not counted while it ran is from now on. */
  end(buffer: OutputBuffer, capacity: number): void {
    if (!this.#running.delete(buffer)) this.#used += buffer.capacity;
    this.#resize(buffer, capacity);
    this.#ended.add(buffer);
    this.#takeFromEnded(0);
  }

  /** Forgets it; its memory is the caller's to free. */
  remove(buffer: OutputBuffer): void {
    if (this.#running.delete(buffer) || this.#ended.delete(buffer)) this.#used -= buffer.capacity;
  }

  /** Grows a running output to what it wants, or to what there is. */
  grow(buffer: OutputBuffer, wanted: number): void {
    this.#takeFromEnded(wanted - buffer.capacity);
    if (this.#free < wanted - buffer.capacity) this.#takeFromRunning(buffer, wanted);
    const most = Math.min(wanted, buffer.capacity + this.#free);
    if (most >= wanted || most >= buffer.capacity * WORTH_GROWING) this.#resize(buffer, most);
  }

  get #free(): number {
    return this.most - this.#used;
  }

  /** Until so much is free. */
  #takeFromEnded(bytes: number): void {
    for (const each of this.#ended) {
      const missing = bytes - this.#free;
      if (missing <= 0) return;
      this.#resize(each, Math.max(0, each.capacity - missing));
      if (each.capacity === 0) this.#ended.delete(each);
    }
  }

  /** Takes memory until this output has its share. One that has it skips the loop, which would otherwise run for every line. */
  #takeFromRunning(buffer: OutputBuffer, wanted: number): void {
    const share = Math.floor(this.most / this.#running.size);
    const missing = () => Math.min(wanted, share) - buffer.capacity - this.#free;
    if (buffer.capacity >= share) return;
    for (const each of this.#running) {
      if (missing() <= 0) return;
      if (each !== buffer && each.capacity > share) this.#resize(each, share);
    }
  }

  #resize(buffer: OutputBuffer, capacity: number): void {
    this.#used -= buffer.capacity;
    buffer.resize(capacity);
    this.#used += buffer.capacity;
  }
}
