/** One step of the schema. What was released is never changed: a change is a new step at the end. */
export interface Migration {
  readonly name: string;
  readonly statements: readonly string[];
}

/** In the SQL that both databases share. A migration's number is its place, from 1. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: "first",
    statements: [
      `CREATE TABLE api_keys (
        id TEXT PRIMARY KEY, org TEXT NOT NULL, name TEXT NOT NULL, secret_hash TEXT NOT NULL, scopes TEXT NOT NULL,
        created_at BIGINT NOT NULL, expires_at BIGINT, revoked_at BIGINT, last_used_at BIGINT
      )`,
      "CREATE INDEX api_keys_of_org ON api_keys (org, created_at, id)",

      `CREATE TABLE servers (
        id TEXT PRIMARY KEY, run TEXT NOT NULL, url TEXT NOT NULL,
        started_at BIGINT NOT NULL, lease_until BIGINT NOT NULL
      )`,

      `CREATE TABLE sessions (
        id TEXT PRIMARY KEY, org TEXT NOT NULL, name TEXT NOT NULL, role TEXT, settings TEXT NOT NULL,
        created_at BIGINT NOT NULL, renewed_at BIGINT NOT NULL, expires_at BIGINT, server TEXT,
        state TEXT NOT NULL CHECK (state IN ('active', 'ended')),
        ended_at BIGINT, ended_why TEXT, cleaned_at BIGINT
      )`,
      "CREATE UNIQUE INDEX sessions_names ON sessions (org, name) WHERE state = 'active'",
      "CREATE INDEX sessions_of_org ON sessions (org, created_at, id)",
      "CREATE INDEX sessions_expiring ON sessions (expires_at) WHERE state = 'active'",
      "CREATE INDEX sessions_owned ON sessions (server) WHERE state = 'active'",
      "CREATE INDEX sessions_uncleaned ON sessions (server) WHERE state = 'ended' AND cleaned_at IS NULL",
      "CREATE INDEX sessions_ended ON sessions (ended_at) WHERE state = 'ended'",

      `CREATE TABLE idempotency_keys (
        org TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, session TEXT NOT NULL,
        created_at BIGINT NOT NULL, PRIMARY KEY (org, key)
      )`,
      "CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at)",

      `CREATE TABLE approvals (
        org TEXT NOT NULL, id TEXT NOT NULL, session TEXT, server TEXT NOT NULL, request TEXT NOT NULL,
        created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
        decision TEXT, decided_by TEXT, answer TEXT, decided_at BIGINT, PRIMARY KEY (org, id)
      )`,
      "CREATE INDEX approvals_pending ON approvals (org, created_at, id) WHERE decision IS NULL",
      "CREATE INDEX approvals_awaited ON approvals (server) WHERE decision IS NULL",
      "CREATE INDEX approvals_age ON approvals (expires_at)",

      `CREATE TABLE executions (
        org TEXT NOT NULL, id TEXT NOT NULL, session TEXT, server TEXT NOT NULL, tool TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted')),
        started_at BIGINT NOT NULL, ended_at BIGINT, result TEXT NOT NULL, PRIMARY KEY (org, id)
      )`,
      "CREATE INDEX executions_of_org ON executions (org, started_at, id)",
      "CREATE INDEX executions_of_session ON executions (org, session, started_at, id)",
      "CREATE INDEX executions_running ON executions (server) WHERE state = 'running'",
      "CREATE INDEX executions_age ON executions (started_at)",

      `CREATE TABLE snapshots (
        org TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, created_at BIGINT NOT NULL, info TEXT NOT NULL,
        PRIMARY KEY (org, session, id)
      )`,
      "CREATE INDEX snapshots_of_org ON snapshots (org, created_at, session, id)",

      `CREATE TABLE audit_entries (
        log TEXT NOT NULL, seq BIGINT NOT NULL, org TEXT NOT NULL, session TEXT, event_type TEXT NOT NULL,
        tool TEXT, result TEXT, at BIGINT NOT NULL, PRIMARY KEY (log, seq)
      )`,
      "CREATE INDEX audit_entries_of_org ON audit_entries (org, at, log, seq)",
      "CREATE INDEX audit_entries_of_session ON audit_entries (org, session, at, log, seq)",
      "CREATE INDEX audit_entries_age ON audit_entries (at)",
    ],
  },
  {
    name: "the last session of a name",
    statements: ["CREATE INDEX sessions_of_name ON sessions (org, name, created_at)"],
  },
];
