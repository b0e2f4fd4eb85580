import { interruptApprovals } from "./approvals.js";
import type { Database, Statements } from "./database.js";
import { interruptExecutions } from "./executions.js";
import { checkLease, deleteExpiredServers, findServer, type ServerRow, toServer } from "./leases.js";
import { inParts, newId, toList } from "./rows.js";
import { endSessions, findActive, type SessionRow, toSession } from "./session-rows.js";
import type {
  ClaimResult,
  EndedWithServers,
  LeaseToken,
  ServerRecord,
  Servers,
  SessionOwner,
  SessionRecord,
} from "./store.js";

const SESSIONS_AT_ONCE = 256;
const NOTHING: EndedWithServers = { servers: [], sessions: [], approvals: [], executions: [] };

/** Which servers are alive, which session is whose, and the end of what dead servers had. */
export class StoredServers implements Servers {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async start({ id, url, leaseMs }: { id: string; url: string; leaseMs: number }): Promise<LeaseToken> {
    const run = newId();
    await this.#database.run(
      `INSERT INTO servers (id, run, url, started_at, lease_until) VALUES (?, ?, ?, ?, ${this.#database.clock} + ?)
       ON CONFLICT (id) DO UPDATE SET run = excluded.run, url = excluded.url,
         started_at = excluded.started_at, lease_until = excluded.lease_until`,
      [id, run, url, Date.now(), leaseMs],
    );
    return { server: id, run };
  }

  async announce({ server, run }: LeaseToken, url: string): Promise<void> {
    await this.#database.run("UPDATE servers SET url = ? WHERE id = ? AND run = ?", [url, server, run]);
  }

  async heartbeat({ server, run }: LeaseToken, leaseMs: number): Promise<boolean> {
    const sql = `UPDATE servers SET lease_until = ${this.#database.clock} + ? WHERE id = ? AND run = ?`;
    return (await this.#database.urgently(sql, [leaseMs, server, run])) === 1;
  }

  async stop({ server, run }: LeaseToken, leaseMs: number): Promise<void> {
    const sql = `UPDATE servers SET run = '', lease_until = ${this.#database.clock} + ? WHERE id = ? AND run = ?`;
    await this.#database.run(sql, [leaseMs, server, run]);
  }

  async list(): Promise<readonly ServerRecord[]> {
    const sql = `SELECT * FROM servers WHERE lease_until > ${this.#database.clock} ORDER BY started_at, id`;
    return (await this.#database.query<ServerRow>(sql)).map(toServer);
  }

  async get(id: string): Promise<ServerRecord | undefined> {
    const row = await findServer(this.#database, this.#database, id);
    return row?.lives === 1 ? toServer(row) : undefined;
  }

  async ownerOf(org: string, name: string): Promise<SessionOwner | undefined> {
    const { clock } = this.#database;
    const [row] = await this.#database.query<ServerRow & { readonly owner: string }>(
      `SELECT servers.*, sessions.server AS owner, CASE WHEN lease_until > ${clock} THEN 1 ELSE 0 END AS lives
       FROM sessions LEFT JOIN servers ON servers.id = sessions.server
       WHERE org = ? AND name = ? AND state = 'active' AND sessions.server IS NOT NULL`,
      [org, name],
    );
    return row && { server: row.owner, record: row.lives === 1 ? toServer(row) : undefined };
  }

  claim(lease: LeaseToken, org: string, name: string): Promise<ClaimResult | undefined> {
    return this.#database.transaction(async (statements) => {
      await checkLease(this.#database, statements, lease);
      const session = await findActive(statements, org, name);
      if (session === undefined) return undefined;
      if (session.server === lease.server) return { claimed: true, session: toSession(session) };
      if (session.server !== null) {
        const owner = await findServer(this.#database, statements, session.server);
        return {
          claimed: false,
          session: toSession(session),
          owner: owner?.lives === 1 ? toServer(owner) : undefined,
        };
      }
      const [mine] = await statements.query<SessionRow>(
        "UPDATE sessions SET server = ? WHERE id = ? RETURNING *",
        [lease.server, session.id],
      );
      return mine && { claimed: true, session: toSession(mine) };
    });
  }

  reapDead(lease: LeaseToken): Promise<EndedWithServers> {
    return this.#database.transaction(async (statements) => {
      // After a sleep of the whole machine all leases have run out, and no server is dead.
      const own = await findServer(this.#database, statements, lease.server);
      if (own?.lives !== 1 || own.run !== lease.run) return NOTHING;
      await deleteExpiredServers(this.#database, statements, lease.server);
      const sessions = await endSessions(statements, "server-lost", {
        where: `server IS NOT NULL AND ${isGone("sessions")}`,
        parameters: [],
      });
      await forgetSnapshots(statements, sessions);
      const approvals = await interruptApprovals(statements, { where: isGone("approvals"), parameters: [] });
      const executions = await interruptExecutions(statements, {
        where: isGone("executions"),
        parameters: [],
      });
      const servers = new Set([...sessions, ...approvals, ...executions].map(({ server }) => server!));
      return { servers: [...servers].sort(), sessions, approvals, executions };
    });
  }
}

/** Their files are on a host that is gone. */
async function forgetSnapshots(statements: Statements, sessions: readonly SessionRecord[]): Promise<void> {
  for (const part of inParts(sessions, SESSIONS_AT_ONCE)) {
    const { sql, values } = toList(part.map(({ id }) => id));
    await statements.run(`DELETE FROM snapshots WHERE session IN ${sql}`, values);
  }
}

function isGone(table: string): string {
  return `NOT EXISTS (SELECT 1 FROM servers WHERE servers.id = ${table}.server)`;
}
