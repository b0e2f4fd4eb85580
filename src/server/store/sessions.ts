import { createHash } from "node:crypto";
import { canonicalJson } from "../../kit/canonical-json.js";
import { SandboxError } from "../../kit/errors.js";
import type { Database, Statements } from "./database.js";
import { checkLease } from "./leases.js";
import { readPage } from "./paging.js";
import type {
  CreatedSession,
  EndReason,
  Idempotency,
  Json,
  NewSession,
  Page,
  SessionListRequest,
  SessionRecord,
} from "./records.js";
import { deleteInBatches, inParts, newId, toList, toText } from "./rows.js";
import { endSessions, findActive, toSession } from "./session-rows.js";

/** How many expired sessions one call takes. */
const EXPIRED_AT_ONCE = 500;
const IDS_AT_ONCE = 256;

/** Sessions, when they expire, and the server that owns each. */
export class Sessions {
  constructor(private readonly database: Database) {}

  /** CONFLICT: the name is in use, or the idempotency key came with another request before. */
  create(org: string, session: NewSession): Promise<CreatedSession> {
    const { lease, idempotency } = session;
    return this.database.transaction(async (statements) => {
      const id = newId();
      if (idempotency !== undefined) {
        const meant = await takeIdempotencyKey(statements, org, idempotency, id);
        if (meant !== id) return { session: await earlierOne(statements, org, meant), isNew: false };
      }
      if (lease !== undefined) await checkLease(this.database, statements, lease);
      return { session: await insert(statements, org, id, session), isNew: true };
    });
  }

  /** The active session of that name. */
  get(org: string, name: string): Promise<SessionRecord | undefined> {
    return findActive(this.database, org, name);
  }

  /** The last one that had that name, also when it has ended. */
  async getLast(org: string, name: string): Promise<SessionRecord | undefined> {
    const [row] = await this.database.query(
      "SELECT * FROM sessions WHERE org = ? AND name = ? ORDER BY created_at DESC, state LIMIT 1",
      [org, name],
    );
    return row && toSession(row);
  }

  /** Also one that has ended. */
  getById(org: string, id: string): Promise<SessionRecord | undefined> {
    return findById(this.database, org, id);
  }

  /** The names of those of these ids that there are, by id. */
  async namesOf(org: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const names = new Map<string, string>();
    for (const part of inParts(ids, IDS_AT_ONCE)) {
      const { sql, values } = toList(part);
      const select = `SELECT id, name FROM sessions WHERE org = ? AND id IN ${sql}`;
      const rows = await this.database.query<{ id: string; name: string }>(select, [org, ...values]);
      for (const { id, name } of rows) names.set(id, name);
    }
    return names;
  }

  list(org: string, request: SessionListRequest = {}): Promise<Page<SessionRecord>> {
    const listing = {
      table: "sessions",
      equal: { org, state: request.state },
      order: { created_at: "number", id: "string" },
    } as const;
    return readPage(this.database, listing, request, toSession);
  }

  /** True: a session was made with it. */
  async isIdempotencyKey(org: string, key: string): Promise<boolean> {
    const sql = "SELECT 1 AS found FROM idempotency_keys WHERE org = ? AND key = ?";
    return (await this.database.query(sql, [org, key])).length > 0;
  }

  /** Undefined: there is no active session of that name, or its time is over. */
  async renew(
    org: string,
    name: string,
    expiresAt: number | undefined,
    id?: string,
  ): Promise<SessionRecord | undefined> {
    const now = Date.now();
    const { where, parameters } = named(org, name, id);
    const [row] = await this.database.query(
      `UPDATE sessions SET renewed_at = ?, expires_at = ?
       WHERE ${where} AND state = 'active' AND (expires_at IS NULL OR expires_at > ?) RETURNING *`,
      [now, expiresAt ?? null, ...parameters, now],
    );
    return row && toSession(row);
  }

  /** The session that this call ended; undefined when there was none. Of two callers one gets it. */
  async end(org: string, name: string, why: EndReason, id?: string): Promise<SessionRecord | undefined> {
    return (await endSessions(this.database, why, named(org, name, id)))[0];
  }

  /** Ends and returns the expired sessions of this server and those without one. Each is returned to one caller, once. */
  takeExpired(now: number, server: string): Promise<readonly SessionRecord[]> {
    return endSessions(this.database, "expired", {
      // Said twice: one that was renewed since the inner one looked must stay.
      where: `expires_at <= ? AND id IN (
          SELECT id FROM sessions WHERE state = 'active' AND expires_at <= ? AND (server = ? OR server IS NULL)
          LIMIT ${EXPIRED_AT_ONCE}
        )`,
      parameters: [now, now, server],
    });
  }

  /** This server's ended sessions whose files have not been removed yet, also from before a crash. */
  async listUncleaned(server: string): Promise<readonly SessionRecord[]> {
    const rows = await this.database.query(
      "SELECT * FROM sessions WHERE server = ? AND state = 'ended' AND cleaned_at IS NULL ORDER BY ended_at, id",
      [server],
    );
    return rows.map(toSession);
  }

  /** The files are gone. */
  async markCleaned(ids: readonly string[]): Promise<void> {
    const now = Date.now();
    for (const part of inParts(ids, EXPIRED_AT_ONCE)) {
      const { sql, values } = toList(part);
      await this.database.run(
        `UPDATE sessions SET cleaned_at = ? WHERE state = 'ended' AND cleaned_at IS NULL AND id IN ${sql}`,
        [now, ...values],
      );
    }
  }

  /** Forgets ended and cleaned sessions, and idempotency keys, from before that moment. Resolves to how many. */
  async prune(before: number): Promise<number> {
    await deleteInBatches(this.database, "idempotency_keys", "org, key", {
      where: "created_at < ?",
      parameters: [before],
    });
    // The files of a dead server's sessions are never cleaned.
    return deleteInBatches(this.database, "sessions", "id", {
      where: `state = 'ended' AND ended_at < ?
        AND (cleaned_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM servers WHERE servers.id = sessions.server))`,
      parameters: [before],
    });
  }
}

/** With an id: only that very one. */
function named(org: string, name: string, id: string | undefined) {
  return id === undefined
    ? { where: "org = ? AND name = ?", parameters: [org, name] }
    : { where: "org = ? AND name = ? AND id = ?", parameters: [org, name, id] };
}

async function insert(
  statements: Statements,
  org: string,
  id: string,
  { name, role, settings, expiresAt, lease }: NewSession,
): Promise<SessionRecord> {
  const now = Date.now();
  const [row] = await statements.query(
    `INSERT INTO sessions (id, org, name, role, settings, created_at, renewed_at, expires_at, server, state)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'active') ON CONFLICT DO NOTHING RETURNING *`,
    [id, org, name, role ?? null, toText(settings), now, now, expiresAt ?? null, lease?.server ?? null],
  );
  if (row !== undefined) return toSession(row);
  throw new SandboxError("CONFLICT", "There is an active session of that name already", {
    hint: "Use that one, end it first, or choose another name.",
  });
}

async function findById(statements: Statements, org: string, id: string): Promise<SessionRecord | undefined> {
  const sql = "SELECT * FROM sessions WHERE org = ? AND id = ?";
  const [row] = await statements.query(sql, [org, id]);
  return row && toSession(row);
}

async function earlierOne(statements: Statements, org: string, id: string): Promise<SessionRecord> {
  const session = await findById(statements, org, id);
  if (session !== undefined) return session;
  throw new SandboxError("CONFLICT", "The session of that idempotency key ended long ago", {
    hint: "Use a new key for a new session.",
  });
}

/**
 * Takes a caller's key for a session that is being made, within its transaction. Resolves to the id of the session that
 * the key stands for: this one, or an earlier one. CONFLICT: it came with another request before.
 */
async function takeIdempotencyKey(
  statements: Statements,
  org: string,
  { key, request }: Idempotency,
  session: string,
): Promise<string> {
  const fingerprint = fingerprintOf(request);
  const isNew = await statements.run(
    `INSERT INTO idempotency_keys (org, key, fingerprint, session, created_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
    [org, key, fingerprint, session, Date.now()],
  );
  if (isNew === 1) return session;
  const [earlier] = await statements.query<{ fingerprint: string; session: string }>(
    "SELECT fingerprint, session FROM idempotency_keys WHERE org = ? AND key = ?",
    [org, key],
  );
  if (earlier?.fingerprint === fingerprint) return earlier.session;
  throw new SandboxError("CONFLICT", "The idempotency key was used for another request", {
    hint: "Use a new key for a new request.",
  });
}

function fingerprintOf(request: Json): string {
  // What JSON does not say makes no difference: members that are undefined.
  const plain = JSON.parse(JSON.stringify(request));
  return createHash("sha256").update(canonicalJson(plain)).digest("hex");
}
