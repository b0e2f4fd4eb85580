import { ftruncateSync, write } from "node:fs";
import { promisify } from "node:util";

const writeAsync = promisify(write);
const BLOCK_BYTES = 4096;
const ZEROS = Buffer.alloc(64 * 1024);

/** Writes a file from its beginning to its end, and leaves holes where whole blocks are zero: they take no room. */
export class SparseWriter {
  #length = 0;
  #endsInHole = false;

  constructor(private readonly fd: number) {}

  async take(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += ZEROS.length) {
      const piece = bytes.subarray(at, at + ZEROS.length);
      this.#endsInHole =
        piece.length >= BLOCK_BYTES && ZEROS.compare(piece, 0, piece.length, 0, piece.length) === 0;
      for (let done = 0; !this.#endsInHole && done < piece.length; ) {
        const position = this.#length + done;
        const { bytesWritten } = await writeAsync(this.fd, piece, done, piece.length - done, position);
        done += bytesWritten;
      }
      this.#length += piece.length;
    }
  }

  /** Gives the file its length, should it end in a hole. */
  finish(): void {
    if (this.#endsInHole) ftruncateSync(this.fd, this.#length);
  }
}
