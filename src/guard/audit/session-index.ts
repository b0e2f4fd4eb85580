import { createHash, randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readLines } from "./read-lines.js";
import { parseRecord } from "./sealed-record.js";
import type { Segment } from "./segments.js";

const VERSION = 1;
/** So much of a growing file is read line by line before the index is written again. */
const MAX_TAIL_BYTES = 1024 * 1024;

/** Where the records of each session stand in one file. A hint: a reader checks the record itself. */
export interface SessionIndex {
  /** It knows the file up to here. */
  readonly covered: number;
  /** The earliest and the latest time in that part; undefined when it is empty. */
  readonly times: { readonly earliest: string; readonly latest: string } | undefined;
  /** Where records of this session may begin, in order. */
  offsetsOf(session: string): number[];
}

interface Header {
  readonly version: number;
  readonly covered: number;
  /** The end of the part that it covers: another file under the same name has another. */
  readonly ending: string;
  readonly earliest: string;
  readonly latest: string;
  /** Of the entries. */
  readonly sum: string;
}

/** Each is the session's hash (upper half) and the offset of a record (lower half), sorted. */
type Entries = BigUint64Array;

/** The index of a file, from beside it, or made (and kept beside it where that is allowed). */
export async function loadSessionIndex(directory: string, segment: Segment): Promise<SessionIndex> {
  const log = join(directory, segment.name);
  const known = await readIndex(log, segment.size);
  if (known !== undefined && segment.size - known.header.covered <= MAX_TAIL_BYTES) return toIndex(known);
  const made = await extendIndex(log, segment.size, known);
  await writeIndex(log, made);
  return toIndex(made);
}

interface Stored {
  readonly header: Header;
  readonly entries: Entries;
}

function toIndex({ header, entries }: Stored): SessionIndex {
  return {
    covered: header.covered,
    times: header.earliest === "" ? undefined : { earliest: header.earliest, latest: header.latest },
    offsetsOf: (session) => lookUp(entries, hashOf(session)),
  };
}

function lookUp(entries: Entries, hash: bigint): number[] {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]! >> 32n < hash) low = middle + 1;
    else high = middle;
  }
  const offsets: number[] = [];
  for (let at = low; at < entries.length && entries[at]! >> 32n === hash; at++) {
    offsets.push(Number(entries[at]! & 0xffffffffn));
  }
  return offsets;
}

async function extendIndex(log: string, size: number, known: Stored | undefined): Promise<Stored> {
  const entries: bigint[] = [];
  let covered = known?.header.covered ?? 0;
  let earliest = known?.header.earliest ?? "";
  let latest = known?.header.latest ?? "";
  for await (const lines of readLines(log, { from: covered, to: size })) {
    for (const { bytes, offset, whole } of lines) {
      if (!whole || offset > 0xffffffff) break;
      covered = offset + bytes.length + 1;
      const record = parseRecord(bytes);
      if (record === undefined) continue;
      const { session_id: session, timestamp } = record;
      if (earliest === "" || timestamp < earliest) earliest = timestamp;
      if (timestamp > latest) latest = timestamp;
      if (typeof session === "string") entries.push((hashOf(session) << 32n) | BigInt(offset));
    }
  }
  const old = known?.entries ?? new BigUint64Array();
  const all = new BigUint64Array(old.length + entries.length);
  all.set(old);
  all.set(entries, old.length);
  all.sort();
  const ending = await endingAt(log, covered);
  return { header: { version: VERSION, covered, ending, earliest, latest, sum: sumOf(all) }, entries: all };
}

/** Undefined when there is none, or it is of another file, or damaged. */
async function readIndex(log: string, size: number): Promise<Stored | undefined> {
  try {
    const bytes = await readFile(`${log}.index`);
    const end = bytes.indexOf("\n");
    const header = JSON.parse(bytes.toString("utf8", 0, end)) as Header;
    if (header.version !== VERSION || !(header.covered <= size)) return undefined;
    const body = bytes.subarray(end + 1);
    // Its own memory: a view on 64 bits must begin at a multiple of eight.
    const entries = new BigUint64Array(new Uint8Array(body).buffer);
    if (header.sum !== sumOf(entries) || header.ending !== (await endingAt(log, header.covered)))
      return undefined;
    return { header, entries };
  } catch {
    return undefined;
  }
}

async function writeIndex(log: string, { header, entries }: Stored): Promise<void> {
  const path = `${log}.index`;
  const fresh = `${path}.${randomBytes(6).toString("hex")}`;
  const body = Buffer.from(entries.buffer, entries.byteOffset, entries.byteLength);
  try {
    await writeFile(fresh, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]), {
      flag: "wx",
      mode: 0o600,
    });
    await rename(fresh, path);
  } catch {
    // A reader who may not write, or a full disk: the answer is the same without it.
    await rm(fresh, { force: true }).catch(() => {});
  }
}

/** The hash in the last record before a place. */
async function endingAt(log: string, covered: number): Promise<string> {
  let ending = "";
  for await (const lines of readLines(log, { from: Math.max(0, covered - 67), to: covered })) {
    ending = lines.at(-1)?.bytes.toString("latin1") ?? "";
  }
  return ending;
}

function sumOf(entries: Entries): string {
  const bytes = Buffer.from(entries.buffer, entries.byteOffset, entries.byteLength);
  return createHash("sha256").update(bytes).digest("hex");
}

/** FNV-1a. Two sessions that share it cost a look, not an answer. */
function hashOf(session: string): bigint {
  let hash = 0x811c9dc5;
  for (let index = 0; index < session.length; index++) {
    hash = Math.imul(hash ^ session.charCodeAt(index), 0x01000193);
  }
  return BigInt(hash >>> 0);
}
