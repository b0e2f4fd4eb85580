import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJson } from "../../kit/canonical-json.js";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { type Line, readLines, readLinesBackward } from "./read-lines.js";
import type { AuditRecord, AuditResult } from "./record.js";
import { MAX_LINE_BYTES, parseRecord } from "./sealed-record.js";
import { openForReading, readFailure, type Segment } from "./segments.js";
import { loadSessionIndex, type SessionIndex } from "./session-index.js";

const FIRST_READ_BYTES = 4096;
const READS_AT_ONCE = 32;

export interface AuditQuery {
  readonly session?: string;
  readonly agent?: string;
  readonly org?: string;
  readonly tool?: string;
  readonly result?: AuditResult;
  readonly eventType?: string;
  /** Not before this; a date, or text that is one. */
  readonly since?: Date | string;
  /** Before this. */
  readonly until?: Date | string;
  /** At most so many. */
  readonly limit?: number;
  /** The latest first. */
  readonly reverse?: boolean;
  readonly signal?: AbortSignal;
}

/** The records that fit, in the order of the log. It reads what is there, and does not verify. */
export async function* queryAudit(directory: string, query: AuditQuery = {}): AsyncGenerator<AuditRecord> {
  const filter = createFilter(query);
  let left = query.limit ?? Number.POSITIVE_INFINITY;
  if (!(left > 0)) return;
  const segments = openForReading(directory);
  for (const segment of query.reverse ? segments.toReversed() : segments) {
    for await (const record of unlessGone(readSegment(directory, segment, query, filter))) {
      yield record;
      if (--left <= 0) return;
    }
  }
}

interface Filter {
  /** A line of ours that fits has all of these texts in it. */
  readonly needles: readonly string[];
  readonly since: string;
  readonly until: string;
  matches(record: AuditRecord): boolean;
}

function createFilter({ session, agent, org, tool, result, eventType, since, until }: AuditQuery): Filter {
  const wanted = Object.entries({
    session_id: session,
    agent_id: agent,
    org_id: org,
    tool,
    result,
    event_type: eventType,
  }).filter((entry): entry is [keyof AuditRecord, string] => entry[1] !== undefined);
  const from = since === undefined ? "" : parseTime("since", since);
  // After every text of a time.
  const before = until === undefined ? "~" : parseTime("until", until);
  return {
    needles: wanted.map(([key, value]) => `"${key}":${canonicalJson(value)}`),
    since: from,
    until: before,
    matches: (record) =>
      record.timestamp >= from &&
      record.timestamp < before &&
      wanted.every(([key, value]) => record[key] === value),
  };
}

function parseTime(name: string, time: Date | string): string {
  const date = new Date(time);
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new SandboxError("INVALID_ARGUMENT", `${name} is not a date`, {
    hint: `Give a Date, or text such as "2026-02-07T12:00:00Z".`,
  });
}

async function* readSegment(
  directory: string,
  segment: Segment,
  query: AuditQuery,
  filter: Filter,
): AsyncGenerator<AuditRecord> {
  const path = join(directory, segment.name);
  const { session, reverse = false } = query;
  const indexed = session !== undefined || query.since !== undefined || query.until !== undefined;
  const index = indexed ? await loadSessionIndex(directory, segment) : undefined;
  const head = () => readIndexed(path, index!, query, filter);
  const tail = () => scan(path, { from: index?.covered ?? 0, to: segment.size }, query, filter);
  const parts = index === undefined ? [tail] : reverse ? [tail, head] : [head, tail];
  for (const part of parts) {
    query.signal?.throwIfAborted();
    yield* part();
  }
}

async function* readIndexed(
  path: string,
  index: SessionIndex,
  query: AuditQuery,
  filter: Filter,
): AsyncGenerator<AuditRecord> {
  const { times, covered } = index;
  const { session, reverse, signal } = query;
  if (times === undefined || times.latest < filter.since || times.earliest >= filter.until) return;
  if (session === undefined) {
    yield* scan(path, { from: 0, to: covered }, query, filter);
    return;
  }
  const offsets = index.offsetsOf(session);
  if (offsets.length === 0) return;
  const handle = await open(path, "r");
  try {
    if (reverse) offsets.reverse();
    for (let next = 0; next < offsets.length; next += READS_AT_ONCE) {
      signal?.throwIfAborted();
      const some = offsets.slice(next, next + READS_AT_ONCE);
      const records = await Promise.all(some.map((offset) => readRecord(handle, offset)));
      for (const record of records) if (record !== undefined && filter.matches(record)) yield record;
    }
  } finally {
    await handle.close();
  }
}

async function* scan(
  path: string,
  range: { readonly from: number; readonly to: number },
  { reverse, signal }: Pick<AuditQuery, "reverse" | "signal">,
  filter: Filter,
): AsyncGenerator<AuditRecord> {
  for await (const lines of (reverse ? readLinesBackward : readLines)(path, range)) {
    signal?.throwIfAborted();
    for (const line of lines) {
      const record = readMatch(line, filter);
      if (record !== undefined) yield record;
    }
  }
}

function readMatch({ bytes, whole }: Line, filter: Filter): AuditRecord | undefined {
  if (!whole || !filter.needles.every((needle) => bytes.includes(needle, 0, "latin1"))) return undefined;
  const record = parseRecord(bytes);
  return record !== undefined && filter.matches(record) ? record : undefined;
}

async function readRecord(handle: FileHandle, offset: number): Promise<AuditRecord | undefined> {
  for (let bytes = FIRST_READ_BYTES; bytes <= 2 * MAX_LINE_BYTES; bytes *= 4) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(bytes), 0, bytes, offset);
    const end = buffer.subarray(0, bytesRead).indexOf("\n");
    if (end >= 0) return parseRecord(buffer.subarray(0, end));
    if (bytesRead < bytes) return undefined;
  }
  return undefined;
}

/** The same, and an end without an error where the file is gone: the oldest may be retired while we read. */
export async function* unlessGone<T>(found: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* found;
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return;
    throw code === undefined || error instanceof SandboxError ? error : readFailure(error);
  }
}
