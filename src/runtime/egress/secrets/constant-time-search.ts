import { randomBytes, timingSafeEqual } from "node:crypto";

/** So many bytes at the end of what is looked for have to be right before looking for it takes any longer. */
const WINDOW = 8;
/** So many upper bits of a hash are looked up. */
const BITS = 14;
const SHIFT = 32 - BITS;

/**
 * Finds several byte strings in a time that does not tell how much of one there is: by a hash of every window of bytes,
 * with a secret factor. `indexOf` takes many times as long over the right letter as over a wrong one.
 */
export class ConstantTimeSearch {
  readonly #finds: readonly Buffer[];
  readonly #window: number;
  readonly #factor = randomBytes(4).readInt32LE() | 1;
  /** What a byte adds to the hash once it has left the window. */
  readonly #leaving = new Int32Array(256);
  /** By the upper bits of a hash: whether anything ends so. */
  readonly #isEnd = new Uint8Array(1 << BITS);
  readonly #endings = new Map<number, number[]>();

  constructor(finds: readonly Buffer[]) {
    this.#finds = finds;
    this.#window = Math.min(WINDOW, ...finds.map(({ length }) => length));
    let power = 1;
    for (let count = 0; count < this.#window; count++) power = Math.imul(power, this.#factor);
    for (let byte = 0; byte < 256; byte++) this.#leaving[byte] = Math.imul(byte, power);
    for (const [index, find] of finds.entries()) {
      const hash = this.#hashOf(find.subarray(-this.#window));
      this.#isEnd[hash >>> SHIFT] = 1;
      this.#endings.set(hash >>> SHIFT, [...(this.#endings.get(hash >>> SHIFT) ?? []), index]);
    }
  }

  /** For each where it begins, the last place first. */
  search(bytes: Buffer): number[][] {
    const found: number[][] = this.#finds.map(() => []);
    const window = this.#window;
    const factor = this.#factor;
    const leaving = this.#leaving;
    const isEnd = this.#isEnd;
    if (bytes.length < window) return found;
    let hash = this.#hashOf(bytes.subarray(0, window - 1));
    for (let at = window - 1; at < bytes.length; at++) {
      const left = at < window ? 0 : leaving[bytes[at - window]!]!;
      hash = (Math.imul(hash, factor) + bytes[at]! - left) | 0;
      if (isEnd[hash >>> SHIFT] === 1) this.#compare(bytes, at + 1, hash >>> SHIFT, found);
    }
    for (const places of found) places.reverse();
    return found;
  }

  #hashOf(bytes: Buffer): number {
    return bytes.reduce((hash, byte) => (Math.imul(hash, this.#factor) + byte) | 0, 0);
  }

  #compare(bytes: Buffer, end: number, hash: number, found: number[][]): void {
    for (const index of this.#endings.get(hash)!) {
      const find = this.#finds[index]!;
      const start = end - find.length;
      if (start >= 0 && timingSafeEqual(bytes.subarray(start, end), find)) found[index]!.push(start);
    }
  }
}
