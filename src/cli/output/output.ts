import type { Writable } from "node:stream";
import { systemCode } from "../../kit/errors.js";

/** How long the last words may take when a reader has stopped reading but not gone away. */
const FLUSH_MS = 2000;

/** One of our output streams: waits for a slow reader, and falls silent when the reader is gone. */
export class Output {
  #stream: (Writable & { isTTY?: boolean }) | undefined;
  readonly #gone: (() => void)[] = [];
  #closed = false;
  #failure: Error | undefined;

  constructor(private readonly open: () => Writable & { isTTY?: boolean }) {}

  get isTerminal(): boolean {
    return this.#get().isTTY === true;
  }

  /** True when the reader has gone away. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Why it cannot be written, when that is not the reader's doing: a full disk. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Calls back once when the reader goes away. */
  onGone(listener: () => void): void {
    if (this.#closed) listener();
    else this.#gone.push(listener);
  }

  /** Resolves when there is room for more, when the reader is gone, or when the signal says to stop waiting. */
  async write(data: string | Uint8Array, signal?: AbortSignal): Promise<void> {
    if (this.#closed || signal?.aborted) return;
    const stream = this.#get();
    if (stream.write(data)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        stream.off("drain", done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      stream.once("drain", done);
      signal?.addEventListener("abort", done, { once: true });
      this.onGone(done);
    });
  }

  /** Resolves when everything written so far has left the process, or cannot. */
  async flush(): Promise<void> {
    const stream = this.#stream;
    if (stream === undefined || this.#closed || stream.writableLength === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, FLUSH_MS);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      this.onGone(done);
      stream.write("", done);
    });
  }

  #get(): Writable & { isTTY?: boolean } {
    if (this.#stream === undefined) {
      this.#stream = this.open();
      this.#stream.on("error", (error) => {
        // EPIPE: `| head` has seen enough. EIO: the terminal is gone. Neither is an error.
        if (systemCode(error) !== "EPIPE" && systemCode(error) !== "EIO") this.#failure = error;
        this.#closed = true;
        for (const listener of this.#gone.splice(0)) listener();
      });
    }
    return this.#stream;
  }
}

export const stdout = new Output(() => process.stdout);
export const stderr = new Output(() => process.stderr);
