import { type ErrorCode, toSandboxError } from "../../../kit/errors.js";

/** How starting sandboxes went since the manager began. */
export interface SandboxStarts {
  readonly succeeded: number;
  readonly failed: number;
  /** Of the last one that ended, whichever way. */
  readonly lastFailed: boolean;
  readonly lastFailure?: { readonly at: Date; readonly code: ErrorCode };
}

/** Counts starts. A start that its caller cancelled is no failure. */
export class StartCounter {
  #starts: SandboxStarts = { succeeded: 0, failed: 0, lastFailed: false };

  get starts(): SandboxStarts {
    return this.#starts;
  }

  async track<T>(start: () => Promise<T>): Promise<T> {
    try {
      const started = await start();
      this.#starts = { ...this.#starts, succeeded: this.#starts.succeeded + 1, lastFailed: false };
      return started;
    } catch (error) {
      const { code } = toSandboxError(error);
      if (code !== "CANCELLED") {
        this.#starts = {
          ...this.#starts,
          failed: this.#starts.failed + 1,
          lastFailed: true,
          lastFailure: { at: new Date(), code },
        };
      }
      throw error;
    }
  }
}
