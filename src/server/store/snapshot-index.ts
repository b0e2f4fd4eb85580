import type { Database, Row } from "./database.js";
import { readPage } from "./paging.js";
import { fromText, toText } from "./rows.js";
import type { Page, PageRequest, SnapshotIndex, SnapshotRecord } from "./store.js";

interface SnapshotRow extends Row {
  readonly id: string;
  readonly session: string;
  readonly created_at: number;
  readonly info: string;
}

/** Which snapshots there are, over all sessions. */
export class StoredSnapshotIndex implements SnapshotIndex {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async put(org: string, { id, session, createdAt, info }: SnapshotRecord): Promise<void> {
    await this.#database.run(
      `INSERT INTO snapshots (org, session, id, created_at, info) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (org, session, id) DO UPDATE SET created_at = excluded.created_at, info = excluded.info`,
      [org, session, id, createdAt, toText(info)],
    );
  }

  list(
    org: string,
    request: PageRequest & { readonly session?: string | undefined } = {},
  ): Promise<Page<SnapshotRecord>> {
    const listing = {
      table: "snapshots",
      equal: { org, session: request.session },
      order: { created_at: "number", session: "string", id: "string" },
    } as const;
    return readPage<SnapshotRow, SnapshotRecord>(this.#database, listing, request, (row) => ({
      id: row.id,
      session: row.session,
      createdAt: row.created_at,
      info: fromText(row.info),
    }));
  }

  async remove(org: string, session: string, id: string): Promise<boolean> {
    const sql = "DELETE FROM snapshots WHERE org = ? AND session = ? AND id = ?";
    return (await this.#database.run(sql, [org, session, id])) === 1;
  }

  removeAllOf(org: string, session: string): Promise<number> {
    return this.#database.run("DELETE FROM snapshots WHERE org = ? AND session = ?", [org, session]);
  }
}
