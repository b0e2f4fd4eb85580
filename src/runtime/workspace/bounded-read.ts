import { closeSync, createReadStream, readSync } from "node:fs";
import { pipeline, type Readable, Transform } from "node:stream";
import type { OpenFile } from "./descriptor-walk.js";
import { fileError, tooLarge } from "./file-errors.js";

const FIRST_CHUNK_BYTES = 4096;

/** Reads the whole file and closes it. The reported size is a first guess: the guest can change the file under us. */
export function readBounded({ fd, stat }: OpenFile, maxBytes: number, path: string): Buffer {
  try {
    if (stat.size > maxBytes) throw tooLarge(path, maxBytes);
    // One byte more than expected, so that the end is seen without growing.
    let buffer = Buffer.allocUnsafeSlow(Math.max(stat.size, FIRST_CHUNK_BYTES) + 1);
    let length = 0;
    for (;;) {
      const count = readSync(fd, buffer, length, buffer.length - length, null);
      if (count === 0) return buffer.subarray(0, length);
      length += count;
      if (length > maxBytes) throw tooLarge(path, maxBytes);
      if (length === buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.min(2 * length, maxBytes + 1));
        buffer.copy(larger, 0, 0, length);
        buffer = larger;
      }
    }
  } catch (error) {
    throw fileError(error, path);
  } finally {
    closeSync(fd);
  }
}

/** Streams the file and closes it at the end; more than the cap is an error of the stream, never a silent cut. */
export function boundedReadStream({ fd, stat }: OpenFile, maxBytes: number, path: string): Readable {
  if (stat.size > maxBytes) {
    closeSync(fd);
    throw tooLarge(path, maxBytes);
  }
  let length = 0;
  const cap = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      length += chunk.length;
      if (length > maxBytes) callback(tooLarge(path, maxBytes));
      else callback(null, chunk);
    },
  });
  const source = createReadStream("", { fd, start: 0, end: maxBytes });
  // pipeline closes the descriptor when the reader goes away; the error itself travels on the returned stream.
  return pipeline(source, cap, () => undefined);
}
