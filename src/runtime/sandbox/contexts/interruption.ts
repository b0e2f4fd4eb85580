import type { Reason } from "../executions/result.js";
import type { Kernel } from "./kernel.js";

/** Processor time that interrupted code may take to come to an end before its interpreter is killed. */
const GRACE_CPU_MS = 2000;
/** The same on the clock, for code that waits, for a busy machine, and where nobody counts processor time. */
const GRACE_MS = 10_000;
const LOOK_MS = 250;

/** What a run may take, and who else may end it. */
export interface InterruptionInit {
  readonly timeoutMs: number;
  readonly signals: readonly AbortSignal[];
  /** Of the whole sandbox, so far; undefined: nobody counts it. */
  readonly cpuTimeMs: () => Promise<number | undefined>;
}

/** Watches the clock and the caller, interrupts once, and kills what does not heed it. */
export class Interruption {
  reason: Reason | undefined;
  /** Asked for by hand, and by nothing else: what the code makes of it is the code's. */
  isRequest = false;
  readonly #kernel: Kernel;
  readonly #init: InterruptionInit;
  readonly #onAbort = () => this.end("cancelled");
  #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(kernel: Kernel, init: InterruptionInit) {
    this.#kernel = kernel;
    this.#init = init;
    this.#timer = setTimeout(() => this.end("timeout"), init.timeoutMs);
    for (const signal of init.signals) {
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
    void this.#killWhenLate();
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const signal of this.#init.signals) signal.removeEventListener("abort", this.#onAbort);
  }

  /** A machine that is busy with other things does not take the code's time from it. */
  async #killWhenLate(): Promise<void> {
    const startedAt = performance.now();
    const before = this.#init.cpuTimeMs();
    for (let look = 1; !this.#isOver; look++) {
      await this.#pause(LOOK_MS);
      if (this.#isOver) return;
      const elapsedMs = performance.now() - startedAt;
      if (elapsedMs >= GRACE_MS || (elapsedMs >= GRACE_CPU_MS && (await this.#hasUsedGrace(before)))) break;
      // After 1, 2, 4, 8 … looks.
      if ((look & (look - 1)) === 0) this.#kernel.interruptAgain();
    }
    if (!this.#isOver) this.#kernel.kill();
  }

  async #hasUsedGrace(before: Promise<number | undefined>): Promise<boolean> {
    const [start, now] = await Promise.all([before, this.#init.cpuTimeMs()]);
    return start !== undefined && now !== undefined && now - start >= GRACE_CPU_MS;
  }

  #pause(ms: number): Promise<void> {
    clearTimeout(this.#timer);
    return new Promise((resolve) => {
      this.#timer = setTimeout(resolve, ms);
    });
  }
}
