/** Runs clean-ups in the reverse order, like the AsyncDisposableStack that Node 20 does not have yet. */
export class AsyncDisposableStack implements AsyncDisposable {
  readonly #cleanUps: (() => unknown)[] = [];

  defer(cleanUp: () => unknown): void {
    this.#cleanUps.push(cleanUp);
  }

  /** Continues after failures, and throws the first. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (let cleanUp = this.#cleanUps.pop(); cleanUp !== undefined; cleanUp = this.#cleanUps.pop()) {
      try {
        await cleanUp();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
