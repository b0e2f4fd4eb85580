import type { Database } from "./database.js";
import { readPage } from "./paging.js";
import type { IndexedSnapshot, Page, PageRequest } from "./records.js";
import { fromRow, type Members, toText } from "./rows.js";

const MEMBERS: Members<IndexedSnapshot> = {
  id: "plain",
  session: "plain",
  createdAt: "plain",
  info: "json",
};

/** Which snapshots there are, over all sessions. The files are the truth; this finds them. */
export class SnapshotIndex {
  constructor(private readonly database: Database) {}

  /** Again for the same session and id: replaces what was said. */
  async put(org: string, { id, session, createdAt, info }: IndexedSnapshot): Promise<void> {
    await this.database.run(
      `INSERT INTO snapshots (org, session, id, created_at, info) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (org, session, id) DO UPDATE SET created_at = excluded.created_at, info = excluded.info`,
      [org, session, id, createdAt, toText(info)],
    );
  }

  list(
    org: string,
    request: PageRequest & { readonly session?: string | undefined } = {},
  ): Promise<Page<IndexedSnapshot>> {
    const listing = {
      table: "snapshots",
      equal: { org, session: request.session },
      order: { created_at: "number", session: "string", id: "string" },
    } as const;
    return readPage(this.database, listing, request, (row) => fromRow(row, MEMBERS));
  }

  async remove(org: string, session: string, id: string): Promise<boolean> {
    const sql = "DELETE FROM snapshots WHERE org = ? AND session = ? AND id = ?";
    return (await this.database.run(sql, [org, session, id])) === 1;
  }

  removeAllOf(org: string, session: string): Promise<number> {
    return this.database.run("DELETE FROM snapshots WHERE org = ? AND session = ?", [org, session]);
  }
}
