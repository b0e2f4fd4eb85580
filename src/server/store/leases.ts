import type { Database, Row, Statements } from "./database.js";
import { storeFailed } from "./failures.js";
import type { LeaseToken, ServerRecord } from "./records.js";

/** A server as the table has it. */
export interface ServerRow extends Row {
  readonly id: string;
  readonly run: string;
  readonly url: string;
  readonly started_at: number;
  readonly lease_until: number;
  /** 1: its lease has not run out. */
  readonly lives: number;
}

/** As callers see it. */
export function toServer(row: ServerRow): ServerRecord {
  return { id: row.id, url: row.url, startedAt: row.started_at, leaseUntil: row.lease_until };
}

/** A server, and whether it lives by the database's clock. */
export async function findServer(
  { clock }: Database,
  statements: Statements,
  id: string,
): Promise<ServerRow | undefined> {
  const sql = `SELECT servers.*, CASE WHEN lease_until > ${clock} THEN 1 ELSE 0 END AS lives FROM servers WHERE id = ?`;
  return (await statements.query<ServerRow>(sql, [id]))[0];
}

/** Within the transaction that acts on it: STORE_FAILED unless this very run's lease holds. */
export async function checkLease(
  database: Database,
  statements: Statements,
  lease: LeaseToken,
): Promise<void> {
  const row = await findServer(database, statements, lease.server);
  if (row?.lives === 1 && row.run === lease.run) return;
  throw storeFailed("This server's lease is void: it was declared dead, or has another run", {
    hint: "The server has to stop and start again. Try again then.",
  });
}

/**
 * Deletes the servers whose leases have run out, except this one. It comes before every act on a server's death:
 * a heartbeat at the same moment either comes before, and the server is alive, or finds no lease.
 */
export function deleteExpiredServers(
  { clock }: Database,
  statements: Statements,
  except: string,
): Promise<Row[]> {
  const sql = `DELETE FROM servers WHERE id <> ? AND lease_until <= ${clock} RETURNING id`;
  return statements.query(sql, [except]);
}
