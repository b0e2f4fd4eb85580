import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { queryAudit, unlessGone } from "./query.js";
import { readLines, readLinesBackward } from "./read-lines.js";
import type { AuditRecord } from "./record.js";
import { parseRecord } from "./sealed-record.js";
import { firstSeqOf, openForReading } from "./segments.js";

const POLL_MS = 200;

export interface TailOptions {
  /** How many of the last to begin with. */
  readonly lines?: number;
  /** Go on with new ones until the signal. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** The last records of the log, the oldest of them first, and those to come. */
export async function* tailAudit(directory: string, options: TailOptions = {}): AsyncGenerator<AuditRecord> {
  const { lines = 10, follow = false, signal } = options;
  // Before the last ones are read: what comes meanwhile is seen by one or the other.
  let at = await endOfLog(directory);
  const last: AuditRecord[] = [];
  for await (const record of queryAudit(directory, { reverse: true, limit: lines })) last.push(record);
  yield* last.reverse();
  if (!follow) return;
  let seq = last.at(-1)?.seq ?? at.seq;
  while (!signal?.aborted) {
    for (const { name, size } of openForReading(directory).filter((segment) => segment.name >= at.name)) {
      if (name !== at.name) at = { name, offset: 0, seq };
      for await (const { record, end } of unlessGone(readFrom(join(directory, name), at.offset, size))) {
        at = { name, offset: end, seq };
        if (record === undefined || record.seq <= seq) continue;
        seq = record.seq;
        yield record;
      }
    }
    await delay(POLL_MS, undefined, { ...(signal !== undefined && { signal }) }).catch(() => {});
  }
}

interface Read {
  readonly record: AuditRecord | undefined;
  /** Where its line ends. */
  readonly end: number;
}

async function* readFrom(path: string, from: number, to: number): AsyncGenerator<Read> {
  for await (const lines of readLines(path, { from, to })) {
    for (const { bytes, offset, whole } of lines) {
      // What is being written right now is read again, whole.
      if (whole) yield { record: parseRecord(bytes), end: offset + bytes.length + 1 };
    }
  }
}

/** Where the last whole line ends. */
async function endOfLog(directory: string): Promise<{ name: string; offset: number; seq: number }> {
  const segment = openForReading(directory).at(-1);
  if (segment === undefined) return { name: "", offset: 0, seq: 0 };
  const { name, size } = segment;
  for await (const [last] of readLinesBackward(join(directory, name), { to: size })) {
    if (last === undefined) continue;
    const { bytes, offset } = last;
    return { name, offset: offset + bytes.length + 1, seq: parseRecord(bytes)?.seq ?? 0 };
  }
  return { name, offset: 0, seq: firstSeqOf(name) - 1 };
}
