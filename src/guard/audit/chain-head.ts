import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { bootId } from "../../kit/process-label.js";
import { writeAll } from "../../kit/write-all.js";
import { type Anchor, type Head, wasPowerCut } from "./head-anchor.js";
import { GENESIS, MAX_LINE_BYTES, unsealRecord } from "./sealed-record.js";
import { listSegments, type Segment, segmentName } from "./segments.js";

const NEWLINE = 0x0a;
const COPY_BYTES = 1024 * 1024;

/** Something that the log has to say about itself: what a crash left, or what no crash explains. */
export interface ChainNote {
  readonly eventType: "audit_recovered" | "audit_gap";
  readonly error: string;
  readonly details: Readonly<Record<string, string | number>>;
}

/** Where the chain goes on, and what is to be said there first. */
export interface FoundHead {
  readonly head: Head;
  readonly notes: readonly ChainNote[];
}

/**
 * Finds the end of the chain from the anchor and the files, under the lock. What a killed writer or a power cut left
 * behind the last whole record is moved to `<file>.damaged`. What is missing without such a reason is a gap, and will
 * be found by everybody who verifies: going on must not cover it up.
 */
export function findHead(directory: string, anchor: Anchor | undefined): FoundHead {
  const segments = listSegments(directory);
  if (anchor === undefined) {
    if (segments.every(({ size }) => size === 0)) return { head: emptyHead(), notes: [] };
    const note = gap("The anchor that says where the log ends was missing or damaged", {});
    return cutBack(directory, segments, () => note);
  }
  const strays = removeStrays(directory, segments, anchor.file);
  const size = segments.find(({ name }) => name === anchor.file)?.size ?? 0;
  const { head, notes } = atAnchor(directory, segments, anchor, size);
  return { head, notes: [...strays, ...notes] };
}

function atAnchor(directory: string, segments: readonly Segment[], anchor: Anchor, size: number): FoundHead {
  const { seq, hash, file } = anchor;
  const head: Head = { seq, hash, file, size: anchor.size };
  if (size > anchor.size) return goOn(directory, head, size, anchor.boot !== bootId());
  if (size === anchor.size) {
    // After a power cut a file can have its length but not its bytes.
    if (anchor.boot === bootId() || seq === 0) return { head, notes: [] };
    const last = lastRecord(directory, until(segments, file));
    if (last?.seq === seq && last.hash === hash) return { head, notes: [] };
  }
  return cutBack(directory, until(segments, file), (last) => {
    const lost = { first_lost: last + 1, last_lost: seq };
    return wasPowerCut(anchor, last)
      ? recovered(`${recordsWere(last + 1, seq)} lost when the machine stopped`, lost)
      : gap(`${recordsWere(last + 1, seq)} removed`, lost);
  });
}

/** Takes in the whole records that were written after the anchor, and sets aside what follows them. */
function goOn(directory: string, from: Head, size: number, afterRestart: boolean): FoundHead {
  const path = join(directory, from.file);
  const tail = readRange(path, from.size, size);
  let head = from;
  let start = 0;
  for (;;) {
    const end = tail.indexOf(NEWLINE, start);
    const record = end < 0 ? undefined : unsealRecord(tail.subarray(start, end));
    if (record === undefined || record.seq !== head.seq + 1 || record.prev !== head.hash) break;
    start = end + 1;
    head = { file: from.file, size: from.size + start, seq: record.seq, hash: record.hash };
  }
  if (start === tail.length) return { head, notes: [] };
  const unfinished = tail.indexOf(NEWLINE, start) < 0;
  const bytes = setAside(directory, from.file, head.size, size);
  const details = { file: from.file, damaged_bytes: bytes };
  const note =
    unfinished || afterRestart
      ? recovered(`${bytes} bytes of an unfinished record were set aside`, details)
      : gap(`${bytes} bytes that no logger wrote were set aside`, details);
  return { head, notes: [note] };
}

/** Goes back to the last whole record that is there. */
function cutBack(
  directory: string,
  segments: readonly Segment[],
  explain: (lastSeq: number) => ChainNote,
): FoundHead {
  const last = lastRecord(directory, segments);
  for (const { name, size } of segments.toReversed()) {
    if (name === last?.file) {
      if (size > last.size) setAside(directory, name, last.size, size);
      break;
    }
    if (size > 0) setFileAside(directory, name);
  }
  return { head: last ?? emptyHead(), notes: [explain(last?.seq ?? 0)] };
}

/** The last line, from the end backwards, that is a record as it was sealed. */
function lastRecord(directory: string, segments: readonly Segment[]): Head | undefined {
  for (const { name, size } of segments.toReversed()) {
    const from = Math.max(0, size - 2 * MAX_LINE_BYTES);
    const window = readRange(join(directory, name), from, size);
    let end = window.lastIndexOf(NEWLINE);
    while (end >= 0) {
      const start = end === 0 ? 0 : window.lastIndexOf(NEWLINE, end - 1) + 1;
      const record = unsealRecord(window.subarray(start, end));
      if (record !== undefined) {
        return { file: name, size: from + end + 1, seq: record.seq, hash: record.hash };
      }
      end = start - 1;
    }
  }
  return undefined;
}

/** A file is in the anchor before a record is in the file: later ones are empty, or not ours. */
function removeStrays(directory: string, segments: readonly Segment[], last: string): ChainNote[] {
  return segments
    .filter(({ name }) => name > last)
    .flatMap(({ name, size }) => {
      if (size === 0) {
        unlinkSync(join(directory, name));
        return [];
      }
      setFileAside(directory, name);
      return [gap("A file that no logger wrote was set aside", { file: name, damaged_bytes: size })];
    });
}

/** Moves the end of a file to `<file>.damaged`. */
function setAside(directory: string, name: string, from: number, to: number): number {
  const path = join(directory, name);
  const append = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
  const aside = openSync(`${path}.damaged`, append, 0o600);
  try {
    const before = fstatSync(aside).size;
    try {
      for (let at = from; at < to; at += COPY_BYTES) {
        writeAll(aside, readRange(path, at, Math.min(to, at + COPY_BYTES)));
      }
      // They must be there before they are gone here.
      fsyncSync(aside);
    } catch (error) {
      ftruncateSync(aside, before);
      throw error;
    }
  } finally {
    closeSync(aside);
  }
  const fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW);
  try {
    ftruncateSync(fd, from);
  } finally {
    closeSync(fd);
  }
  return to - from;
}

function setFileAside(directory: string, name: string): void {
  const aside = join(directory, `${name}.damaged`);
  let target = aside;
  for (let count = 2; existsSync(target); count++) target = `${aside}.${count}`;
  renameSync(join(directory, name), target);
}

function readRange(path: string, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    let done = 0;
    while (done < bytes.length) {
      const count = readSync(fd, bytes, done, bytes.length - done, from + done);
      if (count === 0) break;
      done += count;
    }
    return bytes.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}

function until(segments: readonly Segment[], last: string): Segment[] {
  return segments.filter(({ name }) => name <= last);
}

/** "Record 5 was", "Records 5 to 7 were". */
export function recordsWere(first: number, last: number): string {
  return first === last ? `Record ${first} was` : `Records ${first} to ${last} were`;
}

function emptyHead(): Head {
  return { file: segmentName(1), size: 0, seq: 0, hash: GENESIS };
}

function recovered(error: string, details: ChainNote["details"]): ChainNote {
  return { eventType: "audit_recovered", error, details };
}

function gap(error: string, details: ChainNote["details"]): ChainNote {
  return { eventType: "audit_gap", error, details };
}
