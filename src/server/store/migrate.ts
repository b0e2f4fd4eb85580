import { SandboxError } from "../../kit/errors.js";
import type { Database, Statements } from "./database.js";
import { MIGRATIONS, type Migration } from "./migrations.js";

/** Brings the schema up to date, a transaction for each step. Any number of processes may do so at once. */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  while (await database.exclusively((statements) => takeStep(database.kind, statements, migrations)));
}

/** False: nothing is left to do. */
async function takeStep(
  kind: Database["kind"],
  statements: Statements,
  migrations: readonly Migration[],
): Promise<boolean> {
  await statements.run(
    forKind(
      kind,
      "CREATE TABLE IF NOT EXISTS skerry_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
    ),
  );
  const [row] = await statements.query<{ version: number }>(
    "SELECT COALESCE(MAX(version), 0) AS version FROM skerry_migrations",
  );
  const version = row?.version ?? 0;
  if (version > migrations.length)
    throw new SandboxError(
      "CONFIG_INVALID",
      `The store has a newer schema (${version}) than this Skerry knows (${migrations.length})`,
      { hint: "Update Skerry, or give it another database. Nothing was changed." },
    );
  const next = migrations[version];
  if (next === undefined) return false;
  for (const sql of next.statements) await statements.run(forKind(kind, sql));
  await statements.run("INSERT INTO skerry_migrations (version, name, applied_at) VALUES (?, ?, ?)", [
    version + 1,
    next.name,
    Date.now(),
  ]);
  return true;
}

/** Texts are compared byte by byte, as SQLite does, whatever language PostgreSQL was set up for. */
function forKind(kind: Database["kind"], sql: string): string {
  return kind === "postgres" ? sql.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"') : sql;
}
