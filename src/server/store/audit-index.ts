import type { Database, Row } from "./database.js";
import { readPage } from "./paging.js";
import { deleteInBatches, inParts, padToPowerOfTwo } from "./rows.js";
import type { AuditEntry, AuditFilter, AuditIndex, Page } from "./store.js";

const ENTRIES_AT_ONCE = 128;

interface EntryRow extends Row {
  readonly log: string;
  readonly seq: number;
  readonly org: string;
  readonly session: string | null;
  readonly event_type: string;
  readonly tool: string | null;
  readonly result: string | null;
  readonly at: number;
}

/** Where audit records are, over all logs. */
export class StoredAuditIndex implements AuditIndex {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async insert(entries: readonly AuditEntry[]): Promise<void> {
    for (const part of inParts(entries, ENTRIES_AT_ONCE)) {
      // The same entry twice is one.
      const rows = padToPowerOfTwo(part);
      await this.#database.run(
        `INSERT INTO audit_entries (log, seq, org, session, event_type, tool, result, at)
         VALUES ${rows.map(() => "(?, ?, ?, ?, ?, ?, ?, ?)").join(", ")} ON CONFLICT DO NOTHING`,
        rows.flatMap(({ log, seq, org, session, eventType, tool, result, at }) => [
          ...[log, seq, org, session ?? null],
          ...[eventType, tool ?? null, result ?? null, at],
        ]),
      );
    }
  }

  async lastSeq(log: string): Promise<number> {
    const sql = "SELECT COALESCE(MAX(seq), 0) AS seq FROM audit_entries WHERE log = ?";
    const [row] = await this.#database.query<{ seq: number }>(sql, [log]);
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
    return readPage<EntryRow, AuditEntry>(this.#database, listing, filter, toEntry);
  }

  prune(before: number): Promise<number> {
    return deleteInBatches(this.#database, "audit_entries", "log, seq", {
      where: "at < ?",
      parameters: [before],
    });
  }
}

function toEntry(row: EntryRow): AuditEntry {
  return {
    log: row.log,
    seq: row.seq,
    org: row.org,
    session: row.session ?? undefined,
    eventType: row.event_type,
    tool: row.tool ?? undefined,
    result: row.result ?? undefined,
    at: row.at,
  };
}
