import { Transform, type TransformCallback } from "node:stream";
import type { GuessCounter } from "./guess-counter.js";
import { type Replacement, Replacer } from "./stream-replace.js";

/** A form of a secret that an answer may hold. */
export interface SecretForm extends Replacement {
  readonly secrets: readonly string[];
  /** So many bytes at its beginning are the program's own. */
  readonly known: number;
}

/** After so long without input, what is held is given out: a program that waits for it would wait for ever. */
const IDLE_MS = 25;
/** A beginning of a value that is as long is not given out even then. */
const KEPT_BYTES = 8;
/** What is held back is a multiple of it, so that it tells little of how long a value is. */
const HOLD_STEP = 64;
const HIGH_WATER_MARK = 256 * 1024;

/**
 * An answer with replacements. When and in what pieces it is given out does not depend on whether it has beginnings of a
 * secret: a program could have a host repeat its guesses, and would see which of them are right.
 */
export class AnswerStream extends Transform {
  readonly #replacer: Replacer;
  readonly #names: readonly string[];
  readonly #guesses: GuessCounter;
  readonly #decoder: Transform | undefined;
  #isEmpty = true;
  #timer: NodeJS.Timeout | undefined;
  #check: NodeJS.Immediate | undefined;
  /** It was time to give out what is held, but the reader took nothing. */
  #isDue = false;
  /** The beginning that is kept back, and counted as a guess until its rest is there. */
  #kept: { readonly at: number; readonly names: readonly string[] } | undefined;

  /** It decodes no faster than it is read. */
  constructor(sought: readonly SecretForm[], guesses: GuessCounter, decoder?: Transform) {
    super({ highWaterMark: HIGH_WATER_MARK });
    this.#names = [...new Set(sought.flatMap(({ secrets }) => secrets))];
    this.#guesses = guesses;
    const longest = Math.max(...sought.map(({ find }) => find.length));
    this.#replacer = new Replacer(sought, {
      hold: Math.ceil(longest / HOLD_STEP) * HOLD_STEP,
      onMatch: (at) => this.#onMatch(at),
    });
    this.#decoder = decoder;
    decoder?.on("data", (bytes: Buffer) => {
      if (!this.#give(() => this.#replacer.push(bytes))) decoder.pause();
      this.#wait();
    });
    decoder?.on("error", (error) => this.destroy(error));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#isEmpty = false;
    this.#stopWaiting();
    const taken = () => {
      this.#wait();
      done();
    };
    if (this.#decoder !== undefined) this.#decoder.write(chunk, taken);
    else {
      this.#give(() => this.#replacer.push(chunk));
      taken();
    }
  }

  override _flush(done: TransformCallback): void {
    this.#stopWaiting();
    const end = () => {
      this.#give(() => this.#replacer.end());
      if (!this.destroyed) done();
    };
    if (this.#decoder === undefined) return end();
    if (this.#isEmpty) return done();
    this.#decoder.once("end", end);
    this.#decoder.end();
  }

  override _read(size: number): void {
    this.#decoder?.resume();
    super._read(size);
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#wait();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stopWaiting();
    this.#decoder?.destroy();
    done(error);
  }

  /** False: the reader takes no more for now. */
  #give(make: () => Buffer[]): boolean {
    if (this.destroyed) return false;
    // Whatever is in it: also that one answer goes on and another not would be an answer.
    const leak = this.#guesses.leak(this.#names);
    if (leak !== undefined) {
      this.destroy(leak);
      return false;
    }
    return make().reduce((_, bytes) => this.push(bytes), true);
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#check);
  }

  #wait(): void {
    this.#stopWaiting();
    if (this.destroyed || !this.#replacer.waiting) return;
    this.#timer = setTimeout(() => {
      // After a busy while the timer is early: what has arrived by now comes first.
      this.#check = setImmediate(() => this.#onIdle());
    }, IDLE_MS);
  }

  #onIdle(): void {
    const isFull = this.readableLength >= this.readableHighWaterMark;
    if (isFull || this.writableLength > 0 || (this.#decoder?.readableLength ?? 0) > 0) {
      this.#isDue = true;
      return;
    }
    this.#give(() => {
      const { out, kept } = this.#replacer.releaseBeforePartialMatch(
        (of) => (of as SecretForm).known + KEPT_BYTES,
      );
      if (kept === undefined) this.#kept = undefined;
      else if (kept.at !== this.#kept?.at) {
        const names = [...new Set(kept.of.flatMap((of) => (of as SecretForm).secrets))];
        this.#kept = { at: kept.at, names };
        this.#guesses.count(names);
      }
      return out;
    });
    const leak = this.#guesses.leak(this.#names);
    if (leak !== undefined) this.destroy(leak);
  }

  #onMatch(at: number): void {
    if (at !== this.#kept?.at) return;
    this.#guesses.forget(this.#kept.names);
    this.#kept = undefined;
  }
}
