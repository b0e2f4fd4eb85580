import type { Pool, PoolClient, PoolConfig } from "pg";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { checkParameters, type Database, type Row, type Statements, type Value } from "./database.js";
import { pause, storeClosed, storeFailed } from "./failures.js";
import { translatePostgresError } from "./postgres-errors.js";

const CONNECTIONS = 10;
const CONNECT_MS = 10_000;
const STATEMENT_MS = 15_000;
/** How long a transaction is tried again while others get in its way. */
const RETRY_MS = 5000;
/** serialization_failure and deadlock_detected: the transaction was rolled back, and a retry may succeed. */
const IN_THE_WAY = ["40001", "40P01"];
const BIGINT = 20;
/** Any number that no other program uses as a lock in this database. */
const SCHEMA_LOCK = 7_307_070;

type Answer = { readonly rows: unknown[]; readonly rowCount: number | null };

/** PostgreSQL, which several servers share. */
export async function openPostgres(url: string): Promise<Database> {
  const pg = await loadPg();
  const options: PoolConfig = {
    connectionString: url,
    max: CONNECTIONS,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    // A server that is gone without a word is noticed on this side too.
    query_timeout: STATEMENT_MS + 5000,
    // A process that is stopped in the middle must not hold up the others.
    idle_in_transaction_session_timeout: STATEMENT_MS,
    application_name: "skerry",
    types: {
      // Ours are milliseconds and counts, which fit into a number.
      getTypeParser: (oid: number, format?: "text" | "binary") =>
        oid === BIGINT ? Number : pg.types.getTypeParser(oid, format as "text"),
    },
  };
  const [pool, urgent] = [new pg.Pool(options), new pg.Pool({ ...options, max: 1 })];
  for (const each of [pool, urgent]) {
    // A lost connection rejects what runs on it; an idle one is replaced when it is needed.
    each.on("error", () => undefined);
    each.on("connect", (client) => client.on("error", () => undefined));
  }
  const database = new PostgresDatabase(pool, urgent);
  try {
    await database.query("SELECT 1 AS one");
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function loadPg(): Promise<typeof import("pg")["default"]> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    throw storeFailed("The package pg is not installed", {
      hint: "Install it where skerry is installed: npm install pg. Or use the embedded database.",
      cause,
    });
  }
}

class PostgresDatabase implements Database {
  readonly kind = "postgres";
  readonly clock = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
  readonly size = "pg_database_size(current_database())";
  #closing: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly urgent: Pool,
  ) {}

  async query<Result extends object = Row>(
    sql: string,
    parameters: readonly Value[] = [],
  ): Promise<Result[]> {
    return (await this.#askOnce(sql, parameters)).rows as Result[];
  }

  async run(sql: string, parameters: readonly Value[] = []): Promise<number> {
    return (await this.#askOnce(sql, parameters)).rowCount ?? 0;
  }

  async urgently(sql: string, parameters: readonly Value[] = []): Promise<number> {
    return (await this.#askOnce(sql, parameters, this.urgent)).rowCount ?? 0;
  }

  transaction<T>(action: (statements: Statements) => Promise<T>): Promise<T> {
    return retryOnConflict(() => this.#within("BEGIN ISOLATION LEVEL SERIALIZABLE", action));
  }

  exclusively<T>(action: (statements: Statements) => Promise<T>): Promise<T> {
    return retryOnConflict(() =>
      // Each statement must see what was committed before the lock was granted.
      this.#within("BEGIN ISOLATION LEVEL READ COMMITTED", async (statements) => {
        await statements.query("SELECT pg_advisory_xact_lock(?)", [SCHEMA_LOCK]);
        return action(statements);
      }),
    );
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all([this.pool.end(), this.urgent.end()]).then(() => undefined);
    return this.#closing;
  }

  #askOnce(sql: string, parameters: readonly Value[], pool = this.pool): Promise<Answer> {
    return retryOnConflict(() => this.#use((client) => ask(client, sql, parameters), pool));
  }

  #within<T>(begin: string, action: (statements: Statements) => Promise<T>): Promise<T> {
    return this.#use(async (client) => {
      await ask(client, begin, []);
      const result = await action({
        query: async <Result extends object>(sql: string, parameters: readonly Value[] = []) =>
          (await ask(client, sql, parameters)).rows as Result[],
        run: async (sql, parameters = []) => (await ask(client, sql, parameters)).rowCount ?? 0,
      }).catch(async (error) => {
        await ask(client, "ROLLBACK", []);
        throw error;
      });
      await ask(client, "COMMIT", []);
      return result;
    });
  }

  async #use<T>(action: (client: PoolClient) => Promise<T>, pool = this.pool): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed();
    const client = await translated(pool.connect());
    try {
      const result = await action(client);
      client.release();
      return result;
    } catch (error) {
      // A connection that is lost, or in the middle of a statement, cannot be reused.
      client.release(isUsable(error) ? undefined : true);
      throw error;
    }
  }
}

async function retryOnConflict<T>(action: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + RETRY_MS;
  for (let attempt = 0; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      const code = systemCode((error as Error).cause) ?? "";
      if (!IN_THE_WAY.includes(code) || performance.now() > deadline) throw error;
    }
    await pause(attempt);
  }
}

function ask(client: PoolClient, sql: string, parameters: readonly Value[]): Promise<Answer> {
  checkParameters(parameters);
  return translated(client.query(numbered(sql), [...parameters]));
}

async function translated<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw translatePostgresError(error);
  }
}

/** PostgreSQL said no to one statement, or the caller did; the connection itself is well. */
function isUsable(error: unknown): boolean {
  if (!(error instanceof SandboxError)) return false;
  if (error.code !== "STORE_FAILED") return true;
  return IN_THE_WAY.includes(systemCode(error.cause) ?? "");
}

const NUMBERED = new Map<string, string>();

/** `?` as `$1`, `$2`, …: no text of ours has a question mark in it otherwise. */
function numbered(sql: string): string {
  const known = NUMBERED.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const text = sql.replaceAll("?", () => `$${++count}`);
  NUMBERED.set(sql, text);
  return text;
}
