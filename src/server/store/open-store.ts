import { ApiKeys } from "./api-keys.js";
import { Approvals } from "./approvals.js";
import { AuditIndex } from "./audit-index.js";
import type { Database } from "./database.js";
import { Executions } from "./executions.js";
import { migrate } from "./migrate.js";
import type { StoreFigures } from "./records.js";
import { Servers } from "./servers.js";
import { Sessions } from "./sessions.js";
import { SnapshotIndex } from "./snapshot-index.js";
import { parseStoreUrl } from "./store-url.js";

/** What survives a restart. Moments are milliseconds since 1970; what belongs to an org is found only with that org. */
export interface Store {
  readonly kind: "sqlite" | "postgres";
  readonly apiKeys: ApiKeys;
  readonly sessions: Sessions;
  readonly servers: Servers;
  readonly approvals: Approvals;
  readonly executions: Executions;
  readonly snapshots: SnapshotIndex;
  readonly audit: AuditIndex;
  /** Resolves when the database answers; STORE_FAILED otherwise. */
  ping(): Promise<void>;
  /** Numbers over all orgs and servers, for operators. */
  figures(): Promise<StoreFigures>;
  close(): Promise<void>;
}

/**
 * Opens the store at `sqlite:<path>`, a plain path or `postgres://…`, makes it where there is none, and brings its
 * schema up to date. CONFIG_INVALID for another URL and for a database of a newer Skerry.
 */
export async function openStore({ url }: { readonly url: string }): Promise<Store> {
  const database = await openDatabase(url);
  try {
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    kind: database.kind,
    apiKeys: new ApiKeys(database),
    sessions: new Sessions(database),
    servers: new Servers(database),
    approvals: new Approvals(database),
    executions: new Executions(database),
    snapshots: new SnapshotIndex(database),
    audit: new AuditIndex(database),
    ping: async () => {
      await database.query("SELECT 1 AS one");
    },
    figures: () => readFigures(database),
    close: () => database.close(),
  };
}

/** A database of either kind, as it is: without our schema. */
export async function openDatabase(url: string): Promise<Database> {
  const place = parseStoreUrl(url);
  // Each is loaded with its library, and only then.
  if (place.kind === "sqlite") return (await import("./sqlite.js")).openSqlite(place.path);
  return (await import("./postgres.js")).openPostgres(place.url);
}

/** How much there is, over all orgs. Each count has an index of just what it counts. */
async function readFigures(database: Database): Promise<StoreFigures> {
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
