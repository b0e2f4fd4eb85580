import { cancelled, SandboxError } from "./sandbox-error.js";

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 30_000;
/** A connection that lasted this long resets the count of losses. */
const STEADY_MS = 5000;

/** Connects again after a lost connection, with backoff, up to a number of retries. */
export class Reconnector {
  readonly #retries: number;
  readonly #signal: AbortSignal | undefined;
  #count = 0;
  #since = Date.now();

  constructor(retries: number, signal?: AbortSignal) {
    this.#retries = retries;
    this.#signal = signal;
  }

  /** Connects, and retries where that is useful. Rejects with the server's error, or after too many failures. */
  async open<T>(connect: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const opened = await connect();
        this.#since = Date.now();
        return opened;
      } catch (error) {
        if (!(error instanceof SandboxError) || !error.retryable) throw error;
        await this.note(error);
      }
    }
  }

  /** After a loss: resolves when it is time to try again. Rejects with the error after too many, and with CANCELLED. */
  async note(error: SandboxError): Promise<void> {
    if (Date.now() - this.#since >= STEADY_MS) this.#count = 0;
    this.#since = Date.now();
    if (this.#count >= this.#retries) throw error;
    await pause(backoffMs(this.#count++), this.#signal);
  }
}

/** Twice as long each time, and not for all callers the same. */
export function backoffMs(attempt: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random()));
}

/** Rejects with CANCELLED when the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = () => {
      clearTimeout(timer);
      reject(signal?.reason instanceof SandboxError ? signal.reason : cancelled(signal?.reason));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", cancel);
      resolve();
    }, ms);
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
  });
}
