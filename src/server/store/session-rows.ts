import type { Row, Statements, Value } from "./database.js";
import { fromText } from "./rows.js";
import type { EndedWhy, SessionRecord } from "./store.js";

/** A session as the table has it. */
export interface SessionRow extends Row {
  readonly id: string;
  readonly org: string;
  readonly name: string;
  readonly role: string | null;
  readonly settings: string;
  readonly created_at: number;
  readonly renewed_at: number;
  readonly expires_at: number | null;
  readonly server: string | null;
  readonly state: SessionRecord["state"];
  readonly ended_at: number | null;
  readonly ended_why: EndedWhy | null;
}

/** As callers see it. */
export function toSession(row: SessionRow): SessionRecord {
  return {
    org: row.org,
    name: row.name,
    id: row.id,
    role: row.role ?? undefined,
    settings: fromText(row.settings),
    createdAt: row.created_at,
    renewedAt: row.renewed_at,
    expiresAt: row.expires_at ?? undefined,
    server: row.server ?? undefined,
    state: row.state,
    endedAt: row.ended_at ?? undefined,
    endedWhy: row.ended_why ?? undefined,
  };
}

/** Ends the active sessions that a condition names, in one statement: of two who do so at once, one gets each. */
export async function endSessions(
  statements: Statements,
  why: EndedWhy,
  { where, parameters }: { readonly where: string; readonly parameters: readonly Value[] },
): Promise<SessionRecord[]> {
  const now = Date.now();
  // What no server ever had has no files to clean.
  const rows = await statements.query<SessionRow>(
    `UPDATE sessions SET state = 'ended', ended_at = ?, ended_why = ?,
       cleaned_at = CASE WHEN server IS NULL THEN CAST(? AS BIGINT) ELSE NULL END
     WHERE state = 'active' AND ${where} RETURNING *`,
    [now, why, now, ...parameters],
  );
  return rows.map(toSession);
}

/** The active session of a name. */
export async function findActive(
  statements: Statements,
  org: string,
  name: string,
): Promise<SessionRow | undefined> {
  const sql = "SELECT * FROM sessions WHERE org = ? AND name = ? AND state = 'active'";
  return (await statements.query<SessionRow>(sql, [org, name]))[0];
}
