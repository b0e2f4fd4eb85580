const NEWLINE = 0x0a;

export interface LineReaderOptions {
  readonly maxBytes: number;
  readonly onLine: (line: Buffer) => void;
  /** Called once for a line that is longer; what is left of it is dropped. */
  readonly onTooLong: () => void;
}

/** Cuts a stream of bytes into lines, and never keeps more of one than it may be long. */
export class LineReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  #isDropping = false;

  constructor(private readonly options: LineReaderOptions) {}

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      this.#keep(chunk.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    if (this.#isDropping || part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes <= this.options.maxBytes) {
      this.#parts.push(part);
      return;
    }
    this.#parts = [];
    this.#isDropping = true;
    this.options.onTooLong();
  }

  #finish(): void {
    const line = this.#isDropping ? undefined : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.#isDropping = false;
    if (line !== undefined) this.options.onLine(line);
  }
}
