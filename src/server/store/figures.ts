import type { Database } from "./database.js";
import type { StoreFigures } from "./records.js";

/** How much there is, over all orgs. Each count has an index of just what it counts. */
export async function readFigures(database: Database): Promise<StoreFigures> {
  const [row] = await database.query<{ bytes: number; sessions: number; running: number; pending: number }>(
    `SELECT ${database.size} AS bytes,
       (SELECT COUNT(*) FROM sessions WHERE state = 'active') AS sessions,
       (SELECT COUNT(*) FROM executions WHERE state = 'running') AS running,
       (SELECT COUNT(*) FROM approvals WHERE decision IS NULL AND expires_at > ?) AS pending`,
    [Date.now()],
  );
  const { bytes, sessions, running, pending } = row!;
  return { bytes, activeSessions: sessions, runningExecutions: running, pendingApprovals: pending };
}
