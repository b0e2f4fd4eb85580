import { interruptApprovals } from "./approvals.js";
import type { Database, Statements } from "./database.js";
import { interruptExecutions } from "./executions.js";
import { checkLease, deleteExpiredServers, findServer, type ServerRow, toServer } from "./leases.js";
import type {
  ClaimResult,
  EndedWithServers,
  LeaseToken,
  ServerRecord,
  SessionOwner,
  SessionRecord,
} from "./records.js";
import { inParts, newId, toList } from "./rows.js";
import { endSessions, findActive, toSession } from "./session-rows.js";

const SESSIONS_AT_ONCE = 256;
const NOTHING: EndedWithServers = { servers: [], sessions: [], approvals: [], executions: [] };

/**
 * Which servers are alive. Leases are counted by the database's clock, so servers' clocks need not agree. A server without a
 * successful `heartbeat` for the length of its lease has to stop what it runs: it may have been declared dead.
 */
export class Servers {
  constructor(private readonly database: Database) {}

  /**
   * Begins a run. The id is the state directory's: after a crash the next run has the sessions of the one before, whose
   * lease is void from now on. The caller sees to it that no other process uses that directory.
   */
  async start({ id, url, leaseMs }: { id: string; url: string; leaseMs: number }): Promise<LeaseToken> {
    const run = newId();
    await this.database.run(
      `INSERT INTO servers (id, run, url, started_at, lease_until) VALUES (?, ?, ?, ?, ${this.database.clock} + ?)
       ON CONFLICT (id) DO UPDATE SET run = excluded.run, url = excluded.url,
         started_at = excluded.started_at, lease_until = excluded.lease_until`,
      [id, run, url, Date.now(), leaseMs],
    );
    return { server: id, run };
  }

  /** Says where it is reached from now on. */
  async announce({ server, run }: LeaseToken, url: string): Promise<void> {
    await this.database.run("UPDATE servers SET url = ? WHERE id = ? AND run = ?", [url, server, run]);
  }

  /** Prolongs a lease. False: the server was declared dead, or has another run, and nothing is its own any more. */
  async heartbeat({ server, run }: LeaseToken, leaseMs: number): Promise<boolean> {
    const sql = `UPDATE servers SET lease_until = ${this.database.clock} + ? WHERE id = ? AND run = ?`;
    return (await this.database.urgently(sql, [leaseMs, server, run])) === 1;
  }

  /** Gives the lease back; the sessions stay the server's for as long as `leaseMs` says, so that it may come back. */
  async stop({ server, run }: LeaseToken, leaseMs: number): Promise<void> {
    const sql = `UPDATE servers SET run = '', lease_until = ${this.database.clock} + ? WHERE id = ? AND run = ?`;
    await this.database.run(sql, [leaseMs, server, run]);
  }

  /** Those whose lease has not run out. */
  async list(): Promise<readonly ServerRecord[]> {
    const sql = `SELECT * FROM servers WHERE lease_until > ${this.database.clock} ORDER BY started_at, id`;
    return (await this.database.query<ServerRow>(sql)).map(toServer);
  }

  async get(id: string): Promise<ServerRecord | undefined> {
    const row = await findServer(this.database, this.database, id);
    return row?.lives === 1 ? toServer(row) : undefined;
  }

  /** The owner of the active session of that name. Undefined: there is no such session, or it has no owner yet. */
  async ownerOf(org: string, name: string): Promise<SessionOwner | undefined> {
    const { clock } = this.database;
    const [row] = await this.database.query<ServerRow & { readonly owner: string }>(
      `SELECT servers.*, sessions.server AS owner, CASE WHEN lease_until > ${clock} THEN 1 ELSE 0 END AS lives
       FROM sessions LEFT JOIN servers ON servers.id = sessions.server
       WHERE org = ? AND name = ? AND state = 'active' AND sessions.server IS NOT NULL`,
      [org, name],
    );
    return row && { server: row.owner, record: row.lives === 1 ? toServer(row) : undefined };
  }

  /**
   * Makes an active session this server's, when no other ever had it: its files are where it was. Undefined: there is no
   * such active session. STORE_FAILED: the lease is void.
   */
  claim(lease: LeaseToken, org: string, name: string): Promise<ClaimResult | undefined> {
    return this.database.transaction(async (statements) => {
      await checkLease(this.database, statements, lease);
      const session = await findActive(statements, org, name);
      if (session === undefined) return undefined;
      if (session.server === lease.server) return { claimed: true, session };
      if (session.server !== undefined) {
        const owner = await findServer(this.database, statements, session.server);
        return {
          claimed: false,
          session,
          owner: owner?.lives === 1 ? toServer(owner) : undefined,
        };
      }
      const [mine] = await statements.query("UPDATE sessions SET server = ? WHERE id = ? RETURNING *", [
        lease.server,
        session.id,
      ]);
      return mine && { claimed: true, session: toSession(mine) };
    });
  }

  /**
   * Ends what dead servers had: sessions, with what the index has of their snapshots, pending approvals, running
   * executions. Each is returned to one caller, once. A server whose own lease is void ends nothing: it may be the one that
   * is dead.
   */
  reapDead(lease: LeaseToken): Promise<EndedWithServers> {
    return this.database.transaction(async (statements) => {
      // After a sleep of the whole machine all leases have run out, and no server is dead.
      const own = await findServer(this.database, statements, lease.server);
      if (own?.lives !== 1 || own.run !== lease.run) return NOTHING;
      await deleteExpiredServers(this.database, statements, lease.server);
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
