import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Row, Statements, Value } from "./database.js";
import type { Json } from "./records.js";

const BATCH = 500;

/** Not to be guessed, and the same length always. */
export function newId(): string {
  return randomBytes(12).toString("hex");
}

/** JSON as a column holds it. */
export function toText(value: Json | undefined): string {
  return JSON.stringify(value ?? null);
}

/** What `toText` wrote. */
export function fromText(text: string): Json {
  return JSON.parse(text) as Json;
}

/** All that a record has of a row, and what `toText` wrote. A column that is not named here is told to no caller. */
export type Members<Result> = { readonly [Member in keyof Result]-?: "plain" | "json" };

/** A row as callers see it: the members, whose columns have names in snake case, and undefined for NULL. */
export function fromRow<Result>(row: Row, members: Members<Result>): Result {
  const entries = Object.entries(members).map(([member, kind]) => {
    const value = row[member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
    return [member, kind === "json" ? fromText(String(value)) : (value ?? undefined)];
  });
  return Object.fromEntries(entries) as Result;
}

/**
 * `(?, ?, …)` for a list of one and more, with its parameters. Lists of about the same length are the same text, so that
 * few statements have to be prepared; what is too much says its last value again.
 */
export function toList<T extends Value>(
  values: readonly T[],
): { readonly sql: string; readonly values: T[] } {
  const padded = padToPowerOfTwo(values);
  return { sql: `(${padded.map(() => "?").join(", ")})`, values: padded };
}

/** The last one again and again. */
export function padToPowerOfTwo<T>(values: readonly T[]): T[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(values.length, 1)));
  return Array.from({ length }, (_, index) => values[Math.min(index, values.length - 1)]!);
}

/** Parts of at most so many. */
export function inParts<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );
}

/** Deletes matching rows in batches, so that other statements do not wait long. The key's columns name a row. */
export async function deleteInBatches(
  statements: Statements,
  table: string,
  key: string,
  { where, parameters }: { readonly where: string; readonly parameters: readonly Value[] },
): Promise<number> {
  let total = 0;
  for (;;) {
    const count = await statements.run(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${BATCH})`,
      parameters,
    );
    total += count;
    if (count < BATCH) return total;
    // SQLite answers at once: without this, nothing else in this process would have its turn before the last batch.
    await setImmediate();
  }
}
