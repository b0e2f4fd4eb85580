import { StoredApiKeys } from "./api-keys.js";
import { StoredApprovals } from "./approvals.js";
import { StoredAuditIndex } from "./audit-index.js";
import type { Database } from "./database.js";
import { StoredExecutions } from "./executions.js";
import { readFigures } from "./figures.js";
import { migrate } from "./migrate.js";
import { StoredServers } from "./servers.js";
import { StoredSessions } from "./sessions.js";
import { StoredSnapshotIndex } from "./snapshot-index.js";
import type { Store } from "./store.js";
import { parseStoreUrl } from "./store-url.js";

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
    apiKeys: new StoredApiKeys(database),
    sessions: new StoredSessions(database),
    servers: new StoredServers(database),
    approvals: new StoredApprovals(database),
    executions: new StoredExecutions(database),
    snapshots: new StoredSnapshotIndex(database),
    audit: new StoredAuditIndex(database),
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
