import { monitorEventLoopDelay } from "node:perf_hooks";

const RESOLUTION_MS = 20;
const MINUTE_MS = 60_000;
/** With fewer, one that was late would be the rule. */
const LEAST_LOOKS = 200;

/** How long the event loop kept others waiting, in milliseconds. */
export interface LoopDelays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Watches the event loop, minute by minute. Keeps no process alive. */
export class LoopDelay implements Disposable {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #timer: NodeJS.Timeout;
  #last: LoopDelays | undefined;

  constructor() {
    this.#histogram.enable();
    this.#timer = setInterval(() => {
      this.#last = this.#read();
      this.#histogram.reset();
    }, MINUTE_MS).unref();
  }

  /** Of the last whole minute; before that of what there is, once that says something. */
  get delays(): LoopDelays {
    if (this.#last !== undefined) return this.#last;
    return this.#histogram.count < LEAST_LOOKS ? { p50: 0, p99: 0, max: 0 } : this.#read();
  }

  /** Forgets what was before: a start takes as long as it takes. */
  reset(): void {
    this.#histogram.reset();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  #read(): LoopDelays {
    // Nanoseconds between two looks, which are as far apart as the resolution when nothing holds them up.
    const ms = (nanoseconds: number) =>
      Math.round(Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) * 10) / 10 || 0;
    const { max } = this.#histogram;
    return { p50: ms(this.#histogram.percentile(50)), p99: ms(this.#histogram.percentile(99)), max: ms(max) };
  }
}
