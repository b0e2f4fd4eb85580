import type { OutputSink } from "./execution-sink.js";

/** What a program prints, on its way to its sink, up to one limit for both outputs together. */
export class LimitedOutput {
  isOver = false;
  #used = 0;

  constructor(
    private readonly sink: OutputSink,
    /** Undefined: no limit where a reader takes the output as it comes. */
    private readonly maxBytes: number | undefined,
    /** The limit of what is kept for a result. */
    private readonly maxKeptBytes: number,
    private readonly onLimit: () => void,
  ) {}

  /** False: the sink wants no more for now. */
  take(type: "stdout" | "stderr", data: Buffer): boolean {
    if (this.isOver) return true;
    const limit = this.maxBytes ?? (this.sink.streams ? Number.POSITIVE_INFINITY : this.maxKeptBytes);
    const room = Math.max(0, limit - this.#used);
    this.#used += data.length;
    if (data.length <= room) return this.sink.output(type, data);
    this.isOver = true;
    if (room > 0) this.sink.output(type, data.subarray(0, room));
    this.onLimit();
    return true;
  }
}
