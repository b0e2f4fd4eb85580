import type { Database } from "./database.js";
import { readPage } from "./paging.js";
import type { AuditEntry, AuditFilter, Page } from "./records.js";
import { deleteInBatches, fromRow, inParts, type Members, padToPowerOfTwo } from "./rows.js";

const MEMBERS: Members<AuditEntry> = {
  log: "plain",
  seq: "plain",
  org: "plain",
  session: "plain",
  eventType: "plain",
  tool: "plain",
  result: "plain",
  at: "plain",
};

const ENTRIES_AT_ONCE = 128;

/** Where audit records are, over all logs. The chain is the truth; this finds them. */
export class AuditIndex {
  constructor(private readonly database: Database) {}

  /** What is there already stays as it is, so that a log may be indexed again after a crash. */
  async insert(entries: readonly AuditEntry[]): Promise<void> {
    for (const part of inParts(entries, ENTRIES_AT_ONCE)) {
      // The same entry twice is one.
      const rows = padToPowerOfTwo(part);
      await this.database.run(
        `INSERT INTO audit_entries (log, seq, org, session, event_type, tool, result, at)
         VALUES ${rows.map(() => "(?, ?, ?, ?, ?, ?, ?, ?)").join(", ")} ON CONFLICT DO NOTHING`,
        rows.flatMap(({ log, seq, org, session, eventType, tool, result, at }) => [
          ...[log, seq, org, session ?? null],
          ...[eventType, tool ?? null, result ?? null, at],
        ]),
      );
    }
  }

  /** The number of the last record of a log that is in here; 0: none, or all were pruned. */
  async lastSeq(log: string): Promise<number> {
    const sql = "SELECT COALESCE(MAX(seq), 0) AS seq FROM audit_entries WHERE log = ?";
    const [row] = await this.database.query<{ seq: number }>(sql, [log]);
    return row?.seq ?? 0;
  }

  query(org: string, filter: AuditFilter = {}): Promise<Page<AuditEntry>> {
    const { session, eventType, tool, result, since, until } = filter;
    const listing = {
      table: "audit_entries",
      equal: { org, session, event_type: eventType, tool, result },
      also: [
        { sql: "at >= ?", parameter: since },
        { sql: "at < ?", parameter: until },
      ],
      order: { at: "number", log: "string", seq: "number" },
    } as const;
    return readPage(this.database, listing, filter, (row) => fromRow(row, MEMBERS));
  }

  prune(before: number): Promise<number> {
    return deleteInBatches(this.database, "audit_entries", "log, seq", {
      where: "at < ?",
      parameters: [before],
    });
  }
}
