import { join } from "node:path";
import { readAnchor, wasPowerCut } from "./head-anchor.js";
import { readLinesBackward } from "./read-lines.js";
import type { AuditRecord } from "./record.js";
import { parseRecord, unsealRecord } from "./sealed-record.js";
import { openForReading } from "./segments.js";

const DEFAULT_RECORDS = 100;

/** How the end of a log looks. */
export interface AuditTail {
  /** How many of the last were looked at. */
  readonly checked: number;
  /** Undefined: the log is empty. */
  readonly last: Pick<AuditRecord, "seq" | "timestamp"> | undefined;
  /** Undefined: the chain's end is whole. */
  readonly problem: string | undefined;
  readonly files: number;
  readonly bytes: number;
}

/**
 * Checks the last records of a log, also while it is written: a look, where `verifyAudit` reads everything. FILE_NOT_FOUND:
 * there is no log.
 */
export async function checkAuditTail(
  directory: string,
  { records = DEFAULT_RECORDS }: { readonly records?: number } = {},
): Promise<AuditTail> {
  // Before the records: what is written meanwhile is after it.
  const anchor = readAnchor(directory);
  const segments = openForReading(directory);
  let checked = 0;
  let last: AuditTail["last"];
  let newer: AuditRecord | undefined;
  const tell = (problem?: string): AuditTail => ({
    checked,
    last,
    problem,
    files: segments.length,
    bytes: segments.reduce((sum, { size }) => sum + size, 0),
  });
  for (const { name, size } of segments.toReversed()) {
    for await (const lines of readLinesBackward(join(directory, name), { to: size })) {
      for (const { bytes } of lines) {
        const record = unsealRecord(bytes);
        if (record === undefined) return tell(notAsWritten(parseRecord(bytes)?.seq));
        if (newer !== undefined && (newer.seq !== record.seq + 1 || newer.prev !== record.hash))
          return tell(`Record ${newer.seq} does not follow the one before it`);
        if (typeof anchor === "object" && anchor.seq === record.seq && anchor.hash !== record.hash)
          return tell(`Record ${record.seq} differs from the one that the anchor recorded`);
        // A verification always reports records that a logger found missing; this does so while they are recent.
        if (record.event_type === "audit_gap") return tell(record.error ?? "Records were removed");
        last ??= { seq: record.seq, timestamp: record.timestamp };
        newer = record;
        if (++checked >= records) return tell(endOf(anchor, last.seq));
      }
    }
  }
  return tell(endOf(anchor, last?.seq ?? 0));
}

function notAsWritten(seq: number | undefined): string {
  return seq === undefined
    ? "The log ends with something that is not a record"
    : `Record ${seq} was changed: its hash does not match`;
}

/** What is wrong with a log that ends with this record. */
function endOf(anchor: ReturnType<typeof readAnchor>, seq: number): string | undefined {
  if (typeof anchor === "string")
    return seq === 0 ? undefined : `The anchor that says where the log ends is ${anchor}`;
  if (seq >= anchor.seq || wasPowerCut(anchor, seq)) return undefined;
  return `Records ${seq + 1} to ${anchor.seq} are missing at the end`;
}
