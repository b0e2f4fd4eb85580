interface Removable {
  /** Idempotent. */
  remove(): Promise<void>;
}

/** What could not be removed when it should have been, since the daemon was away or refused: it is not forgotten. */
export class PendingRemovals {
  readonly #all = new Set<Removable>();
  #removing: Promise<number> | undefined;

  add(thing: Removable): void {
    this.#all.add(thing);
  }

  /** Removes a thing. Throws when it cannot be, and keeps it here. */
  async remove(thing: Removable): Promise<void> {
    try {
      await thing.remove();
      this.#all.delete(thing);
    } catch (error) {
      this.#all.add(thing);
      throw error;
    }
  }

  /** Tries again with everything that is left; resolves to how much has gone. */
  removeAll(): Promise<number> {
    this.#removing ??= this.#removeAll().finally(() => {
      this.#removing = undefined;
    });
    return this.#removing;
  }

  async #removeAll(): Promise<number> {
    const outcomes = await Promise.allSettled([...this.#all].map((each) => this.remove(each)));
    return outcomes.filter(({ status }) => status === "fulfilled").length;
  }
}
