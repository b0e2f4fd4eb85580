import type { Reason } from "../executions/result.js";
import type { Kernel } from "./kernel.js";

/** How long interrupted code may take to come to an end before its interpreter is killed. */
const GRACE_MS = 2000;

/** Watches the clock and the caller, interrupts once, and kills what does not heed it. */
export class Interruption {
  reason: Reason | undefined;
  /** Asked for by hand, and by nothing else: what the code makes of it is the code's. */
  isRequest = false;
  readonly #kernel: Kernel;
  readonly #signals: readonly AbortSignal[];
  readonly #onAbort = () => this.end("cancelled");
  #timer: NodeJS.Timeout;

  constructor(kernel: Kernel, timeoutMs: number, signals: readonly AbortSignal[]) {
    this.#kernel = kernel;
    this.#signals = signals;
    this.#timer = setTimeout(() => this.end("timeout"), timeoutMs);
    for (const signal of signals) {
      if (signal.aborted) this.end("cancelled");
      else signal.addEventListener("abort", this.#onAbort, { once: true });
    }
  }

  /** Ctrl-C: code that handles it ends as it does. */
  request(): void {
    if (this.reason !== undefined) return;
    this.end("cancelled");
    this.isRequest = true;
  }

  end(reason: Reason): void {
    this.isRequest = false;
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.#kernel.interrupt();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#kernel.kill(), GRACE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#onAbort);
  }
}
