import type { Readable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";

const PIECE_BYTES = 64 * 1024;
/** Names, times and padding are shorter than this; more between two entries is made to keep us busy. */
const MAX_BETWEEN_ENTRIES = 1024 * 1024;
/** Two blocks of zeros end an archive. One without them was cut. */
const END_BYTES = 1024;
const MAGIC_BYTES = 6;
const COMPRESSED: readonly (readonly [magic: readonly number[], name: string, command: string])[] = [
  [[0x1f, 0x8b], "gzip", "gunzip"],
  [[0x42, 0x5a, 0x68], "bzip2", "bunzip2"],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], "xz", "unxz"],
  [[0x28, 0xb5, 0x2f, 0xfd], "zstd", "unzstd"],
  [[0x50, 0x4b, 0x03, 0x04], "zip", "unzip"],
];

/**
 * An archive's bytes in pieces. Refuses what is compressed, what ends before its end, and what brings no entry for too
 * long: the reader that finds one resets `sinceEntry`.
 */
export async function* archiveBytes(
  source: Readable,
  progress: { sinceEntry: number },
): AsyncGenerator<Uint8Array> {
  let start: Uint8Array = new Uint8Array();
  let length = 0;
  let zeros = 0;
  for await (const chunk of source) {
    if (!(chunk instanceof Uint8Array)) {
      throw archiveInvalid(`expected a stream of bytes, got one of ${typeof chunk}`);
    }
    if (start.length < MAGIC_BYTES) {
      start = Buffer.concat([start, chunk.subarray(0, MAGIC_BYTES)]);
      refuseCompressed(start);
    }
    length += chunk.length;
    zeros = trailingZeros(chunk, zeros);
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      yield piece;
      progress.sinceEntry += piece.length;
      if (progress.sinceEntry > MAX_BETWEEN_ENTRIES) {
        throw archiveInvalid(`it has more than ${MAX_BETWEEN_ENTRIES} bytes between two entries`);
      }
    }
  }
  if (length === 0) throw archiveInvalid("it is empty");
  if (zeros < END_BYTES) throw archiveInvalid("it is incomplete");
}

/** Says what is wrong with an archive, and how to make one that is not. */
export function archiveInvalid(why: string, cause?: unknown): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `The archive is refused: ${why}`, {
    hint: "Give an uncompressed tar of files, directories and relative links, as the export of a snapshot and tar -cf make it.",
    cause,
  });
}

function refuseCompressed(start: Uint8Array): void {
  for (const [magic, name, command] of COMPRESSED) {
    if (!magic.every((byte, index) => start[index] === byte)) continue;
    throw new SandboxError("INVALID_ARGUMENT", `The archive is refused: it is compressed with ${name}`, {
      hint: `Unpack it first: ${command}. How large it is then cannot be known before.`,
    });
  }
}

function trailingZeros(chunk: Uint8Array, before: number): number {
  let count = 0;
  while (count < chunk.length && chunk[chunk.length - 1 - count] === 0) count++;
  return count === chunk.length ? before + count : count;
}
