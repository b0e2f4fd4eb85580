import type { Row, Statements, Value } from "./database.js";
import type { EndReason, SessionRecord } from "./records.js";
import { fromRow, type Members } from "./rows.js";

const MEMBERS: Members<SessionRecord> = {
  org: "plain",
  name: "plain",
  id: "plain",
  role: "plain",
  settings: "json",
  createdAt: "plain",
  renewedAt: "plain",
  expiresAt: "plain",
  server: "plain",
  state: "plain",
  endedAt: "plain",
  endedWhy: "plain",
};

/** As callers see it. */
export function toSession(row: Row): SessionRecord {
  return fromRow(row, MEMBERS);
}

/** Ends the active sessions that a condition names, in one statement: of two concurrent callers, one gets each. */
export async function endSessions(
  statements: Statements,
  why: EndReason,
  { where, parameters }: { readonly where: string; readonly parameters: readonly Value[] },
): Promise<SessionRecord[]> {
  const now = Date.now();
  // What no server ever had has no files to clean.
  const rows = await statements.query(
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
): Promise<SessionRecord | undefined> {
  const sql = "SELECT * FROM sessions WHERE org = ? AND name = ? AND state = 'active'";
  const [row] = await statements.query(sql, [org, name]);
  return row && toSession(row);
}
