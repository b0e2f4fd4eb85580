import { Transform, type TransformCallback } from "node:stream";
import { ConstantTimeSearch } from "./constant-time-search.js";

/** Bytes to look for, and what comes in their place. An error: the stream fails instead. */
export interface Replacement {
  readonly find: Buffer;
  readonly by: (found: Buffer) => Buffer | Error;
}

/** How long the beginning of a match may wait for its rest. */
const RELEASE_MS = 20;
const HIGH_WATER_MARK = 256 * 1024;

/** The end of what came, where a match may have begun. */
export interface PartialMatch {
  /** Counted from the first byte of all. */
  readonly at: number;
  readonly of: readonly Replacement[];
}

export interface ReplacerOptions {
  /**
   * So many bytes at the end are always held back, at least as many as the longest match has: what is given out, and
   * when, then tells nothing about what is looked for, nor does the time it takes. Left out: no more than the beginning
   * of a match.
   */
  readonly hold?: number;
  /** Hears where a match began, counted from the first byte of all. */
  readonly onMatch?: (at: number) => void;
}

/** Where giving out stops, and the last place where a match is replaced. */
interface Limit {
  readonly until: number;
  readonly last: number;
}

/** Replaces in bytes that come in chunks what it would replace in the whole: the first match wins, then the longest. */
export class Replacer {
  readonly #replacements: readonly Replacement[];
  readonly #hold: number | undefined;
  readonly #even: ConstantTimeSearch | undefined;
  readonly #onMatch: ((at: number) => void) | undefined;
  /** The end of what came, where a match may have begun. */
  #held: Buffer = Buffer.alloc(0);
  /** How much of it has been given out nevertheless. */
  #shown = 0;
  /** How much came before it. */
  #passed = 0;

  constructor(replacements: readonly Replacement[], { hold, onMatch }: ReplacerOptions = {}) {
    this.#replacements = replacements;
    this.#hold = hold;
    if (hold !== undefined) this.#even = new ConstantTimeSearch(replacements.map(({ find }) => find));
    this.#onMatch = onMatch;
  }

  get waiting(): boolean {
    return this.#held.length > this.#shown;
  }

  push(chunk: Buffer): Buffer[] {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return this.#replace(bytes, (done) => {
      const until = this.#hold === undefined ? this.#openFrom(bytes, done) : bytes.length - this.#hold;
      return { until, last: until - 1 };
    });
  }

  end(): Buffer[] {
    const { length } = this.#held;
    return this.#replace(this.#held, () => ({ until: length, last: length }));
  }

  /** Gives out what is held, if it is as short; should it turn out to begin a match, only the rest is replaced. */
  release(upTo: number): Buffer | undefined {
    if (this.#held.length > upTo || !this.waiting) return undefined;
    const shown = this.#held.subarray(this.#shown);
    this.#shown = this.#held.length;
    return shown;
  }

  /** Gives out what is held up to the beginning of a match that has as many bytes as `least` says. */
  releaseBeforePartialMatch(least: (of: Replacement) => number): {
    out: Buffer[];
    kept: PartialMatch | undefined;
  } {
    const held = this.#held;
    const passed = this.#passed;
    let until = held.length;
    const out = this.#replace(held, (done) => {
      until = this.#openFrom(held, done, least);
      return { until, last: until };
    });
    if (until === held.length) return { out, kept: undefined };
    const of = this.#replacements.filter(
      (each) => held.length - until >= least(each) && begins(held, until, each.find),
    );
    return { out, kept: { at: passed + until, of } };
  }

  #replace(bytes: Buffer, limitFrom: (done: number) => Limit): Buffer[] {
    const out: Buffer[] = [];
    const nextOf = this.#search(bytes);
    const next = this.#replacements.map((_, index) => nextOf(index, 0));
    let shown = this.#shown;
    let done = 0;
    let { until, last } = limitFrom(0);
    const give = (end: number) => {
      const from = Math.max(done, shown);
      if (end > from) out.push(bytes.subarray(from, end));
    };
    for (;;) {
      const best = this.#first(next, nextOf, done);
      if (best < 0 || next[best]! > last) break;
      const at = next[best]!;
      const { find, by } = this.#replacements[best]!;
      const put = by(find);
      if (put instanceof Error) throw put;
      this.#onMatch?.(this.#passed + at);
      give(at);
      // Of a replacement that keeps the length, as much has been given out as of the match.
      out.push(put.length === find.length ? put.subarray(Math.max(shown - at, 0)) : put);
      done = at + find.length;
      shown = Math.max(shown, done);
      if (done > until) ({ until, last } = limitFrom(done));
    }
    give(until);
    shown = Math.max(shown, until);
    const from = Math.max(done, this.#hold === undefined ? until : bytes.length - this.#hold);
    // A copy: a slice would keep the whole chunk alive.
    this.#held = Buffer.from(bytes.subarray(from));
    this.#shown = Math.min(Math.max(shown - from, 0), this.#held.length);
    this.#passed += bytes.length - this.#held.length;
    return out;
  }

  /** Where a replacement is found next; each is asked about from places that only grow. */
  #search(bytes: Buffer): (index: number, from: number) => number {
    const found = this.#even?.search(bytes);
    if (found === undefined) return (index, from) => bytes.indexOf(this.#replacements[index]!.find, from);
    return (index, from) => {
      const places = found[index]!;
      while (places.length > 0 && places.at(-1)! < from) places.pop();
      return places.at(-1) ?? -1;
    };
  }

  /** Which replacement comes first from here on; of two at one place, the longer. */
  #first(next: number[], nextOf: (index: number, from: number) => number, from: number): number {
    let best = -1;
    for (const [index, { find }] of this.#replacements.entries()) {
      if (next[index]! < 0) continue;
      if (next[index]! < from) next[index] = nextOf(index, from);
      const at = next[index]!;
      if (at < 0) continue;
      const other = best < 0 ? Number.POSITIVE_INFINITY : next[best]!;
      if (at < other || (at === other && find.length > this.#replacements[best]!.find.length)) best = index;
    }
    return best;
  }

  /** From where on the end of the bytes may be the beginning of a match. */
  #openFrom(bytes: Buffer, from: number, least?: (of: Replacement) => number): number {
    let open = bytes.length;
    for (const each of this.#replacements) {
      const end = Math.min(open, bytes.length - (least?.(each) ?? 1) + 1);
      let at = Math.max(from, bytes.length - each.find.length + 1);
      while (at < end) {
        at = bytes.indexOf(each.find[0]!, at);
        if (at < 0 || at >= end) break;
        if (begins(bytes, at, each.find)) {
          open = at;
          break;
        }
        at++;
      }
    }
    return open;
  }
}

/** True: the end of the bytes from here on is the beginning of this, and not the whole. */
function begins(bytes: Buffer, at: number, find: Buffer): boolean {
  return bytes.length - at < find.length && bytes.compare(find, 0, bytes.length - at, at) === 0;
}

export interface ReplaceOptions {
  /**
   * The beginning of a match this long is passed on when nothing follows for a while: a peer that waits for an answer
   * to it would wait for ever. 0: only the end of the stream decides.
   */
  readonly releaseUpTo: number;
}

/** A stream with these replacements. */
export class StreamReplace extends Transform {
  readonly #replacer: Replacer;
  readonly #releaseUpTo: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(replacements: readonly Replacement[], { releaseUpTo }: ReplaceOptions) {
    super({ highWaterMark: HIGH_WATER_MARK });
    this.#replacer = new Replacer(replacements);
    this.#releaseUpTo = releaseUpTo;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    clearTimeout(this.#timer);
    this.#give(() => this.#replacer.push(chunk), done);
    if (this.#releaseUpTo > 0 && this.#replacer.waiting) {
      this.#timer = setTimeout(() => this.#release(), RELEASE_MS);
    }
  }

  override _flush(done: TransformCallback): void {
    clearTimeout(this.#timer);
    this.#give(() => this.#replacer.end(), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    done(error);
  }

  #give(make: () => Buffer[], done: TransformCallback): void {
    try {
      for (const bytes of make()) this.push(bytes);
    } catch (error) {
      return done(error as Error);
    }
    done();
  }

  #release(): void {
    const bytes = this.#replacer.release(this.#releaseUpTo);
    if (bytes !== undefined) this.push(bytes);
  }
}

/** The same for bytes that are all there. */
export function replaceBytes(bytes: Buffer, replacements: readonly Replacement[]): Buffer {
  const replacer = new Replacer(replacements);
  return Buffer.concat([...replacer.push(bytes), ...replacer.end()]);
}

/** The same for a header or a line, whose characters are bytes. */
export function replaceText(text: string, replacements: readonly Replacement[]): string {
  return replaceBytes(Buffer.from(text, "latin1"), replacements).toString("latin1");
}
