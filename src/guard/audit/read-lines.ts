import { closeSync, constants, openSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { MAX_LINE_BYTES } from "./sealed-record.js";

const BLOCK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW;

/** A line without its line break. Its bytes are valid until the next block is asked for. */
export interface Line {
  readonly bytes: Buffer;
  readonly offset: number;
  /** False: no line break follows, or it is longer than any record. Nothing comes after such a line. */
  readonly whole: boolean;
}

export interface Range {
  readonly from?: number;
  readonly to: number;
}

/** The lines of a part of a file, many at a time, in memory that does not grow with the file. */
export async function* readLines(path: string, { from = 0, to }: Range): AsyncGenerator<Line[]> {
  const handle = await open(path, READ);
  try {
    let buffer: Buffer = Buffer.allocUnsafe(BLOCK_BYTES);
    let kept = 0;
    let position = from;
    while (position < to) {
      if (kept === buffer.length) buffer = grown(buffer);
      const room = Math.min(buffer.length - kept, to - position);
      const { bytesRead } = await handle.read(buffer, kept, room, position);
      if (bytesRead === 0) break;
      const block = buffer.subarray(0, kept + bytesRead);
      const { lines, rest } = split(block, position - kept);
      position += bytesRead;
      if (lines.length > 0) yield lines;
      buffer.copyWithin(0, rest, block.length);
      kept = block.length - rest;
      if (kept > MAX_LINE_BYTES) break;
    }
    if (kept > 0) yield [{ bytes: buffer.subarray(0, kept), offset: position - kept, whole: false }];
  } finally {
    await handle.close();
  }
}

/** The same from the last line to the first. A last line without a line break is left out. */
export async function* readLinesBackward(path: string, { from = 0, to }: Range): AsyncGenerator<Line[]> {
  const handle = await open(path, READ);
  try {
    // The end of a line whose beginning has not been read yet.
    let rest: Buffer = Buffer.alloc(0);
    for (let end = to; end > from && rest.length <= MAX_LINE_BYTES; ) {
      const start = Math.max(from, end - BLOCK_BYTES);
      const block = Buffer.concat([await readExactly(handle, start, end - start), rest]);
      const cut = start === from ? 0 : block.indexOf(NEWLINE) + 1;
      end = start;
      if (start > from && cut === 0) {
        rest = block;
        continue;
      }
      const { lines } = split(block.subarray(cut), start + cut);
      if (lines.length > 0) yield lines.reverse();
      rest = block.subarray(0, cut);
    }
  } finally {
    await handle.close();
  }
}

/** Every whole line of a file, for the holder of the lock. */
export function* readLinesSync(path: string, to: number): Generator<Buffer> {
  const fd = openSync(path, READ);
  try {
    let buffer: Buffer = Buffer.allocUnsafe(BLOCK_BYTES);
    let kept = 0;
    for (let position = 0; position < to && kept <= MAX_LINE_BYTES; ) {
      if (kept === buffer.length) buffer = grown(buffer);
      const bytesRead = readSync(fd, buffer, kept, Math.min(buffer.length - kept, to - position), position);
      if (bytesRead === 0) break;
      const block = buffer.subarray(0, kept + bytesRead);
      const { lines, rest } = split(block, position - kept);
      position += bytesRead;
      for (const { bytes } of lines) yield bytes;
      buffer.copyWithin(0, rest, block.length);
      kept = block.length - rest;
    }
  } finally {
    closeSync(fd);
  }
}

/** The whole lines of a block, and where what follows the last of them begins. */
function split(block: Buffer, offset: number): { lines: Line[]; rest: number } {
  const lines: Line[] = [];
  let start = 0;
  for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, start)) {
    lines.push({ bytes: block.subarray(start, end), offset: offset + start, whole: true });
    start = end + 1;
  }
  return { lines, rest: start };
}

function grown(buffer: Buffer): Buffer {
  const larger = Buffer.allocUnsafe(buffer.length * 2);
  buffer.copy(larger);
  return larger;
}

async function readExactly(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}
