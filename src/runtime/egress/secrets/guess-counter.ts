import { SecretLeak } from "./edge-secrets.js";

/** A host that pauses while it repeats a secret makes one or two; an attacker who tries letters makes many. */
const MAX_GUESSES = 3;

/**
 * Counts how often an answer paused at the beginning of a secret. Programs inside see that it is held back, which
 * confirms a guess. It counts at once, since an attacker may never let the answer go on.
 */
export class GuessCounter {
  readonly #counts = new Map<string, number>();

  count(names: readonly string[]): void {
    for (const name of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** The rest came: it was no guess. What is closed stays so. */
  forget(names: readonly string[]): void {
    for (const name of names) {
      const count = this.#counts.get(name) ?? 0;
      if (count < MAX_GUESSES) this.#counts.set(name, Math.max(count - 1, 0));
    }
  }

  isClosed(name: string): boolean {
    return (this.#counts.get(name) ?? 0) >= MAX_GUESSES;
  }

  /** Why an answer with these secrets must not go on. */
  leak(names: readonly string[]): SecretLeak | undefined {
    const name = names.find((each) => this.isClosed(each));
    return name === undefined
      ? undefined
      : new SecretLeak(`an answer was made to guess the secret ${name}`, [name]);
  }
}
