import { chmodSync, closeSync, mkdirSync, openSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { checkParameters, type Database, type Row, type Statements, type Value } from "./database.js";
import { diskFull, nameTaken, pause, storeClosed, storeFailed } from "./failures.js";

/** Another process may be writing: the command line beside a server. */
const BUSY_MS = 10_000;

interface Statement {
  all(...parameters: readonly Value[]): Row[];
  run(...parameters: readonly Value[]): { readonly changes: number };
}

interface Connection {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
}

/** The embedded database: one file, which this process and others of the same user may have open. */
export async function openSqlite(path: string): Promise<Database> {
  const Libsql = await loadLibsql();
  prepareFile(path);
  const connection = carryOut(() => new Libsql(path) as unknown as Connection);
  try {
    // What a killed process had committed is there; only a power cut may take the last moments.
    await whenFree(() =>
      connection.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0;"),
    );
    return new SqliteDatabase(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function loadLibsql(): Promise<typeof import("libsql")> {
  try {
    return (await import("libsql")).default;
  } catch (cause) {
    throw storeFailed("The package libsql is not installed, or not for this system", {
      hint: "Install it where skerry is installed: npm install libsql. Or use PostgreSQL.",
      cause,
    });
  }
}

/** One connection. A statement that comes while a transaction is open waits for its end; otherwise it would become part of it. */
class SqliteDatabase implements Database {
  readonly kind = "sqlite";
  readonly clock = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
  readonly size = "(SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())";
  readonly #prepared = new Map<string, Statement>();
  #last: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(private readonly connection: Connection) {}

  query<Result extends object = Row>(sql: string, parameters: readonly Value[] = []): Promise<Result[]> {
    return this.#inTurn(() => whenFree(() => this.#all<Result>(sql, parameters)));
  }

  run(sql: string, parameters: readonly Value[] = []): Promise<number> {
    return this.#inTurn(() => whenFree(() => this.#change(sql, parameters)));
  }

  /** One file has one turn for everybody, and each takes a moment. */
  urgently(sql: string, parameters: readonly Value[] = []): Promise<number> {
    return this.run(sql, parameters);
  }

  transaction<T>(action: (statements: Statements) => Promise<T>): Promise<T> {
    const inside: Statements = {
      query: async <Result extends object>(sql: string, parameters: readonly Value[] = []) =>
        carryOut(() => this.#all<Result>(sql, parameters)),
      run: async (sql, parameters = []) => carryOut(() => this.#change(sql, parameters)),
    };
    return this.#inTurn(async () => {
      // With the right to write from the beginning: nothing that was read can have changed when something is written.
      await whenFree(() => this.connection.exec("BEGIN IMMEDIATE"));
      try {
        const result = await action(inside);
        carryOut(() => this.connection.exec("COMMIT"));
        return result;
      } catch (error) {
        this.#rollBack();
        throw error;
      }
    });
  }

  exclusively<T>(action: (statements: Statements) => Promise<T>): Promise<T> {
    return this.transaction(action);
  }

  close(): Promise<void> {
    this.#closing ??= this.#last.then(() => {
      this.#prepared.clear();
      this.connection.close();
    });
    return this.#closing;
  }

  async #inTurn<T>(action: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed();
    const done = this.#last.then(action);
    this.#last = done.catch(() => undefined);
    return done;
  }

  #all<Result extends object>(sql: string, parameters: readonly Value[]): Result[] {
    checkParameters(parameters);
    return this.#prepare(sql).all(...parameters) as Result[];
  }

  #change(sql: string, parameters: readonly Value[]): number {
    checkParameters(parameters);
    return this.#prepare(sql).run(...parameters).changes;
  }

  #prepare(sql: string): Statement {
    const known = this.#prepared.get(sql) ?? this.connection.prepare(sql);
    this.#prepared.set(sql, known);
    return known;
  }

  #rollBack(): void {
    try {
      this.connection.exec("ROLLBACK");
    } catch {
      // SQLite has done so itself: after a full disk, for example.
    }
  }
}

/** Waits here and not in SQLite, which would stop everything else in this process meanwhile. */
async function whenFree<T>(action: () => T): Promise<T> {
  const deadline = performance.now() + BUSY_MS;
  for (let attempt = 0; ; attempt++) {
    try {
      return action();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw translated(error);
    }
    await pause(attempt);
  }
}

function carryOut<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw translated(error);
  }
}

function isBusy(error: unknown): boolean {
  return systemCode(error)?.startsWith("SQLITE_BUSY") === true;
}

function translated(cause: unknown): SandboxError {
  if (cause instanceof SandboxError) return cause;
  const code = systemCode(cause) ?? "";
  if (code === "SQLITE_CONSTRAINT_UNIQUE" || code === "SQLITE_CONSTRAINT_PRIMARYKEY") return nameTaken(cause);
  if (code === "SQLITE_FULL") return diskFull(cause);
  if (code === "SQLITE_NOTADB" || code === "SQLITE_CORRUPT")
    return storeFailed(`The store's file is not a database, or is damaged (${code})`, {
      hint: "Restore it from a copy, or move it away: then a new one is made.",
      cause,
    });
  if (isBusy(cause))
    return storeFailed("Another process has been writing to the store for too long", {
      hint: "See which processes have its file open.",
      cause,
    });
  return storeFailed(`The store's file cannot be read or written${code === "" ? "" : ` (${code})`}`, {
    hint: "Check that this user may write to it and to its directory, and that the disk works.",
    cause,
  });
}

/**
 * Only this user may read the file: it has hashes of keys, and approval requests. SQLite's other files take its
 * mode. A file that is there is never opened here: closing it again would drop every lock that SQLite holds on it in this
 * process, and then another process may remove what is not in the database yet.
 */
function prepareFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const stat = look(path) ?? create(path);
    if (!stat.isFile())
      throw storeFailed("The store's path is not a regular file", { hint: "Name a file, or a new one." });
    if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch (cause) {
    if (cause instanceof SandboxError) throw cause;
    const code = systemCode(cause);
    if (code === "ENOSPC") throw diskFull(cause);
    throw storeFailed(`The store's file cannot be opened (${code ?? "unknown"})`, {
      hint: "Check that this user may write to it and to its directory.",
      cause,
    });
  }
}

function look(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function create(path: string): Stats {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    // Another process was first.
    if (systemCode(error) !== "EEXIST") throw error;
  }
  return statSync(path);
}
