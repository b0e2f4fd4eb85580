import type { Output } from "../../output/index.js";

const WIDTH = 30;
const REDRAW_MS = 100;

/** One line on a terminal that is drawn over itself: how far something is. Nothing where there is no terminal. */
export class ProgressBar {
  readonly #startedAt = performance.now();
  /** Known before, which tells nothing about how long the rest takes. */
  readonly #before: number;
  #note = "";
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly output: Pick<Output, "isTerminal" | "write">,
    private readonly total: number,
    private done: number = 0,
  ) {
    this.#before = done;
    this.#draw();
  }

  /** One more is done; the note is drawn behind the bar. */
  advance(note: string): void {
    this.done++;
    this.#note = note;
    if (performance.now() - this.#drawnAt >= REDRAW_MS) this.#draw();
  }

  /** Takes the line away. */
  clear(): void {
    if (this.output.isTerminal) void this.output.write("\r\x1b[K");
  }

  #draw(): void {
    if (!this.output.isTerminal) return;
    this.#drawnAt = performance.now();
    void this.output.write(`\r${this.#text()}\x1b[K`);
  }

  #text(): string {
    const filled = this.total === 0 ? WIDTH : Math.floor((this.done / this.total) * WIDTH);
    const bar = "█".repeat(filled) + "░".repeat(WIDTH - filled);
    return `${bar} ${this.done}/${this.total} ${this.#remaining()}${this.#note}`;
  }

  #remaining(): string {
    const done = this.done - this.#before;
    if (done === 0) return "";
    const seconds = ((performance.now() - this.#startedAt) / 1000 / done) * (this.total - this.done);
    return seconds < 1 ? "" : `about ${Math.ceil(seconds)} s left, `;
  }
}
