import { escapeUnsafeLines } from "../kit/escape-unsafe.js";

/** What a client is told while a call runs. */
export interface Progress {
  /** Seconds since the call began: all that is known of how far it is, and it always grows. */
  readonly progress: number;
  readonly message: string;
}

export interface ProgressOptions {
  /** Resolves when the client has room for the next one. */
  readonly send: (progress: Progress) => Promise<void>;
  /** The least time between two. */
  readonly intervalMs?: number;
  /** A call that says nothing for so long is told to be still running. */
  readonly silenceMs?: number;
}

const INTERVAL_MS = 250;
/** Well below the time after which clients give up. */
const SILENCE_MS = 10_000;
const MESSAGE_CHARACTERS = 500;

/** Tells a client of a call's output as it comes: the end of it, no faster than it reads, nothing in it that acts. */
export class ProgressReporter implements Disposable {
  readonly #send: ProgressOptions["send"];
  readonly #intervalMs: number;
  readonly #silenceMs: number;
  readonly #startedAt = performance.now();
  #news = "";
  #last = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #isSending = false;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor({ send, intervalMs = INTERVAL_MS, silenceMs = SILENCE_MS }: ProgressOptions) {
    this.#send = send;
    this.#intervalMs = intervalMs;
    this.#silenceMs = silenceMs;
    this.#wait(silenceMs);
  }

  output(text: string): void {
    if (this.#isOver || text === "") return;
    const wasQuiet = this.#news === "";
    this.#news = (this.#news + text).slice(-MESSAGE_CHARACTERS);
    if (wasQuiet && !this.#isSending) {
      this.#wait(Math.max(0, this.#toldAt + this.#intervalMs - performance.now()));
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #wait(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#tell(), delayMs);
  }

  async #tell(): Promise<void> {
    const message = this.#news === "" ? "still running" : escapeUnsafeLines(this.#news.replace(/\n$/, ""));
    this.#news = "";
    this.#last = Math.max(this.#last + 0.001, Math.round(performance.now() - this.#startedAt) / 1000);
    this.#isSending = true;
    // A client that is gone ends the call by other means.
    await this.#send({ progress: this.#last, message }).catch(() => undefined);
    this.#isSending = false;
    this.#toldAt = performance.now();
    if (!this.#isOver) this.#wait(this.#news === "" ? this.#silenceMs : this.#intervalMs);
  }
}
