import { SandboxError } from "../../../kit/errors.js";
import { ByteRing } from "./byte-ring.js";
import type { OutputBudget, OutputBuffer } from "./output-budget.js";

/** Some text that one of the outputs had, and the position after it. */
export interface LogPiece {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  readonly end: number;
}

/** What is kept from a position on. */
export interface LogPage {
  readonly pieces: readonly LogPiece[];
  /** Where to go on. */
  readonly next: number;
  /** Bytes before the first piece that are gone. */
  readonly dropped: number;
  /** Nothing will come after these. */
  readonly ended: boolean;
}

/** What is kept of one process. */
const MOST_BYTES = 1024 * 1024;
const FIRST_BYTES = 4096;
/** At most one switch between the outputs is kept per so many bytes: alternating characters must not grow the index. */
const BYTES_PER_RUN = 16;

/**
 * The last of what a process printed on both outputs, in its order. Only whole characters are in it; positions count the bytes of
 * both together, from the first that was ever printed.
 */
export class ProcessLog implements OutputBuffer {
  readonly #ring = new ByteRing();
  /** Where each stretch of one output ends; twice the position, and one more for standard error. */
  #runs: number[] = [];
  /** The beginnings of characters whose end has not come yet. */
  readonly #halves = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  readonly #listeners = new Set<() => void>();
  #isEnded = false;
  #isForgotten = false;

  constructor(private readonly budget: OutputBudget) {}

  /** From now on it counts. */
  begin(): void {
    this.budget.begin(this);
  }

  /** Bytes that have come so far. */
  get bytes(): number {
    return this.#ring.end;
  }

  get capacity(): number {
    return this.#ring.capacity;
  }

  resize(capacity: number): void {
    this.#ring.resize(capacity);
    this.#forgetRuns();
  }

  add(stream: "stdout" | "stderr", data: Buffer): void {
    const half = this.#halves[stream];
    const all = half.length === 0 ? data : Buffer.concat([half, data]);
    const whole = wholeCharacters(all);
    this.#halves[stream] = Buffer.from(all.subarray(whole));
    this.#append(stream, all.subarray(0, whole));
  }

  /** Ends the log; the kept part stays until the budget needs its memory. */
  end(): void {
    for (const stream of ["stdout", "stderr"] as const) this.#append(stream, this.#halves[stream]);
    this.#isEnded = true;
    const { start, end } = this.#ring;
    if (!this.#isForgotten) this.budget.end(this, Math.max(end - start, this.#keptRuns * BYTES_PER_RUN));
    this.#tell();
  }

  /** At most so many bytes. INVALID_ARGUMENT: the position has not come yet. */
  read(position: number, limit: number): LogPage {
    const { start, end } = this.#ring;
    if (position > end) {
      throw new SandboxError("INVALID_ARGUMENT", "The cursor is not from this log", {
        hint: "Take `next` of the page before as it is, or leave the cursor out.",
      });
    }
    let at = position >= start ? position : start + this.#restOfCharacter();
    const dropped = at - position;
    const pieces: LogPiece[] = [];
    const last = Math.min(end, at + limit);
    for (let index = this.#runAfter(at); at < last; index++) {
      const run = this.#runs[index]!;
      const runEnd = Math.floor(run / 2);
      const bytes = this.#ring.read(at, Math.min(runEnd, last) - at);
      const whole = runEnd > last ? wholeCharacters(bytes) : bytes.length;
      if (whole === 0) break;
      at += whole;
      const stream = run % 2 === 0 ? "stdout" : "stderr";
      pieces.push({ stream, text: bytes.toString("utf8", 0, whole), end: at });
      if (whole < bytes.length) break;
    }
    return { pieces, next: at, dropped, ended: this.#isEnded && at === end };
  }

  /** Resolves when there is something after a position, or nothing will be; at the latest with the signal or after a time. */
  waitBeyond(position: number, signal: AbortSignal, ms?: number): Promise<void> {
    const isThere = () => this.#isEnded || this.#ring.end > position || signal.aborted;
    if (isThere()) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = () => {
        clearTimeout(timer);
        this.#listeners.delete(look);
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const look = () => {
        if (isThere()) stop();
      };
      const timer = ms === undefined ? undefined : setTimeout(stop, ms);
      this.#listeners.add(look);
      signal.addEventListener("abort", stop);
    });
  }

  /** It is no longer needed: frees its memory. */
  forget(): void {
    this.#isForgotten = true;
    this.budget.remove(this);
  }

  #append(stream: "stdout" | "stderr", data: Uint8Array): void {
    if (data.length === 0) return;
    const last = this.#runs.at(-1);
    const tag = stream === "stdout" ? 0 : 1;
    const isSame = last !== undefined && last % 2 === tag;
    this.#makeRoom(data.length, this.#keptRuns + (isSame ? 0 : 1));
    this.#ring.append(data);
    if (isSame) this.#runs.pop();
    this.#runs.push(this.#ring.end * 2 + tag);
    this.#forgetRuns();
    this.#tell();
  }

  #makeRoom(bytes: number, runs: number): void {
    const { start, end, capacity } = this.#ring;
    const wanted = Math.min(MOST_BYTES, Math.max(end - start + bytes, runs * BYTES_PER_RUN));
    if (wanted <= capacity) return;
    let rounded = Math.max(FIRST_BYTES, capacity);
    while (rounded < wanted) rounded *= 2;
    this.budget.grow(this, Math.min(MOST_BYTES, rounded));
  }

  get #keptRuns(): number {
    return this.#runs.length - this.#runAfter(this.#ring.start);
  }

  /** The first byte that is kept may be in the middle of a character: so many bytes are left of that. */
  #restOfCharacter(): number {
    const first = this.#ring.read(this.#ring.start, 3).findIndex((byte) => !isContinued(byte));
    return Math.max(0, first);
  }

  /** Forgets those before the first byte that is kept, and the oldest where there are too many. */
  #forgetRuns(): void {
    const most = Math.ceil(this.#ring.capacity / BYTES_PER_RUN);
    const surplus = this.#runs.length - most;
    if (surplus > 0) this.#ring.dropTo(Math.floor(this.#runs[surplus - 1]! / 2));
    const first = this.#runAfter(this.#ring.start);
    // Removing one by one would move all others each time.
    if (first * 2 >= this.#runs.length) this.#runs = this.#runs.slice(first);
  }

  /** The index of the first run that ends after a position. */
  #runAfter(position: number): number {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Math.floor(this.#runs[middle]! / 2) > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function isContinued(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** How many of the bytes are whole characters of UTF-8: all but the beginning of one at their end. */
function wholeCharacters(bytes: Uint8Array): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back]!;
    if (isContinued(byte)) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? length - back : length;
  }
  return length;
}
