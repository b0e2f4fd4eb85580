import { SandboxError } from "../../kit/errors.js";

/** What a column holds: JSON is text, moments are milliseconds. */
export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;

/** Statements in the SQL that SQLite and PostgreSQL share, with `?` for every parameter. */
export interface Statements {
  query<Result extends object = Row>(sql: string, parameters?: readonly Value[]): Promise<Result[]>;
  /** Resolves to how many rows were changed. */
  run(sql: string, parameters?: readonly Value[]): Promise<number>;
}

/** A database that the store stands on. */
export interface Database extends Statements {
  readonly kind: "sqlite" | "postgres";
  /** An expression: its own clock, in milliseconds. */
  readonly clock: string;
  /** An expression: how many bytes all of it takes. */
  readonly size: string;
  /**
   * A serializable transaction. The action may be run several times, so it does nothing but
   * call these statements, and lets their errors pass.
   */
  transaction<T>(action: (statements: Statements) => Promise<T>): Promise<T>;
  /** A transaction that never runs beside another of these, in whatever process. For changes of the schema. */
  exclusively<T>(action: (statements: Statements) => Promise<T>): Promise<T>;
  /** Like `run`, for what must not wait until others have had their turn. */
  urgently(sql: string, parameters?: readonly Value[]): Promise<number>;
  close(): Promise<void>;
}

/** Refuses what one of the databases would refuse, or change, and the other would not. */
export function checkParameters(parameters: readonly Value[]): void {
  for (const value of parameters) {
    if (typeof value === "number" && !Number.isSafeInteger(value))
      throw new SandboxError("INVALID_ARGUMENT", `Expected a whole number, got ${value}`);
    if (typeof value === "string" && /[\0\p{Surrogate}]/u.test(value))
      throw new SandboxError("INVALID_ARGUMENT", "Expected text without NUL and without half characters", {
        hint: "Send valid Unicode.",
      });
  }
}
