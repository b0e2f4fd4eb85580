/** What was opened, to be closed in the opposite order. */
export class OpenThings {
  readonly #closers: (() => unknown)[] = [];

  /** What this closes stands on what was given before. */
  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Goes on past failures, and throws the first. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
