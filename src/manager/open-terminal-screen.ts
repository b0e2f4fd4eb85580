import { Readable } from "node:stream";
import type { ExecutionSink } from "../sandbox/execution.js";

/** How much nobody has read before the program is held back. */
const SCREEN_BYTES = 1024 * 1024;

/** A terminal's output on its way to a reader: one who goes away ends it. */
export class TerminalScreen implements ExecutionSink {
  onDrain: (() => void) | undefined;
  /** Called when there is something on the terminal to see and to type to. */
  onStarted: ((resize: (rows: number, columns: number) => void) => void) | undefined;
  readonly reader: Readable;
  readonly signal: AbortSignal;
  #ended = false;

  constructor(ending: AbortController) {
    this.signal = ending.signal;
    this.reader = new Readable({
      highWaterMark: SCREEN_BYTES,
      read: () => this.onDrain?.(),
      destroy: (error, done) => {
        if (!this.#ended) ending.abort();
        done(error);
      },
    });
    // Nobody waits for the rest of what is cancelled.
    this.signal.addEventListener("abort", () => this.onDrain?.(), { once: true });
  }

  started(_pid: number, resize: (rows: number, columns: number) => void): void {
    this.onStarted?.(resize);
  }

  output(_type: "stdout" | "stderr", data: Buffer): boolean {
    if (this.signal.aborted || this.reader.destroyed) return true;
    return this.reader.push(data);
  }

  end(): void {
    this.#ended = true;
    if (!this.reader.destroyed) this.reader.push(null);
  }
}
