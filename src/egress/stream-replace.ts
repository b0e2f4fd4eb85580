import { Transform, type TransformCallback } from "node:stream";

/** Bytes to look for, and what comes in their place. An error: the stream fails instead. */
export interface Replacement {
  readonly find: Buffer;
  readonly by: (found: Buffer) => Buffer | Error;
}

/** How long the beginning of a match may wait for its rest. */
const RELEASE_MS = 20;
const HIGH_WATER_MARK = 256 * 1024;

/** Replaces in bytes that come in chunks what it would replace in the whole: the first match wins, then the longest. */
export class Replacer {
  readonly #replacements: readonly Replacement[];
  /** The end of what came, where a match may have begun. */
  #held: Buffer = Buffer.alloc(0);
  /** How much of it has been given out nevertheless. */
  #shown = 0;

  constructor(replacements: readonly Replacement[]) {
    this.#replacements = replacements;
  }

  get waiting(): boolean {
    return this.#held.length > this.#shown;
  }

  push(chunk: Buffer): Buffer[] {
    return this.#replace(this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]), false);
  }

  end(): Buffer[] {
    return this.#replace(this.#held, true);
  }

  /** Gives out what is held, if it is as short; should it turn out to begin a match, only the rest is replaced. */
  release(upTo: number): Buffer | undefined {
    if (this.#held.length > upTo || !this.waiting) return undefined;
    const shown = this.#held.subarray(this.#shown);
    this.#shown = this.#held.length;
    return shown;
  }

  #replace(bytes: Buffer, isEnd: boolean): Buffer[] {
    const out: Buffer[] = [];
    const next = this.#replacements.map(({ find }) => bytes.indexOf(find));
    let shown = this.#shown;
    let done = 0;
    let open = isEnd ? bytes.length : this.#openFrom(bytes, 0);
    const give = (until: number) => {
      const from = Math.max(done, shown);
      if (until > from) out.push(bytes.subarray(from, until));
    };
    for (;;) {
      const best = this.#first(bytes, next, done);
      if (best < 0 || next[best]! > open || (next[best] === open && !isEnd)) break;
      const { find, by } = this.#replacements[best]!;
      const put = by(find);
      if (put instanceof Error) throw put;
      give(next[best]!);
      // Of a replacement that keeps the length, as much has been given out as of the match.
      out.push(put.length === find.length ? put.subarray(Math.max(shown - next[best]!, 0)) : put);
      done = next[best]! + find.length;
      shown = Math.max(shown, done);
      if (done > open) open = this.#openFrom(bytes, done);
    }
    give(open);
    // A copy: a slice would keep the whole chunk alive.
    this.#held = Buffer.from(bytes.subarray(open));
    this.#shown = Math.min(Math.max(this.#shown - open, 0), this.#held.length);
    return out;
  }

  /** Which replacement comes first from here on; of two at one place, the longer. */
  #first(bytes: Buffer, next: number[], from: number): number {
    let best = -1;
    for (const [index, { find }] of this.#replacements.entries()) {
      if (next[index]! < 0) continue;
      if (next[index]! < from) next[index] = bytes.indexOf(find, from);
      const at = next[index]!;
      if (at < 0) continue;
      const other = best < 0 ? Number.POSITIVE_INFINITY : next[best]!;
      if (at < other || (at === other && find.length > this.#replacements[best]!.find.length)) best = index;
    }
    return best;
  }

  /** From where on the end of the bytes may be the beginning of a match. */
  #openFrom(bytes: Buffer, from: number): number {
    let open = bytes.length;
    for (const { find } of this.#replacements) {
      let at = Math.max(from, bytes.length - find.length + 1);
      while (at < open) {
        at = bytes.indexOf(find[0]!, at);
        if (at < 0 || at >= open) break;
        if (bytes.compare(find, 0, bytes.length - at, at) === 0) open = at;
        at++;
      }
    }
    return open;
  }
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
