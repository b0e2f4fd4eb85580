import { SandboxError } from "../../kit/errors.js";
import type { Row, Statements, Value } from "./database.js";
import type { Page, PageRequest } from "./records.js";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const MAX_CURSOR_CHARACTERS = 2000;

/** What is listed: conditions with their parameters, and the columns that together are unique and make the order. */
export interface Listing {
  readonly table: string;
  /** Those of no value are left out. */
  readonly equal: Readonly<Record<string, Value | undefined>>;
  readonly also?: readonly { readonly sql: string; readonly parameter: Value | undefined }[];
  readonly order: Readonly<Record<string, "number" | "string">>;
}

/** One page, the latest first: rows after the one that the cursor names, which itself need not be there any more. */
export async function readPage<R extends Row, T>(
  statements: Statements,
  listing: Listing,
  { limit = DEFAULT_LIMIT, cursor }: PageRequest,
  toItem: (row: R) => T,
): Promise<Page<T>> {
  checkLimit(limit);
  const columns = Object.keys(listing.order);
  const conditions = [
    ...Object.entries(listing.equal).map(([column, parameter]) => ({ sql: `${column} = ?`, parameter })),
    ...(listing.also ?? []),
  ].filter(({ parameter }) => parameter !== undefined);
  const where = conditions.map(({ sql }) => sql);
  const parameters = conditions.map(({ parameter }) => parameter as Value);
  if (cursor !== undefined) {
    where.push(`(${columns.join(", ")}) < (${columns.map(() => "?").join(", ")})`);
    parameters.push(...parseCursor(cursor, Object.values(listing.order)));
  }
  const order = columns.map((column) => `${column} DESC`).join(", ");
  // One more shows whether there is another page.
  const rows = await statements.query<R>(
    `SELECT * FROM ${listing.table} WHERE ${where.join(" AND ")} ORDER BY ${order} LIMIT ?`,
    [...parameters, limit + 1],
  );
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    items: rows.slice(0, limit).map(toItem),
    next: last && formatCursor(columns.map((column) => last[column] ?? null)),
  };
}

function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return;
  throw new SandboxError("INVALID_ARGUMENT", `A page has 1 to ${MAX_LIMIT} items, not ${limit}`);
}

function formatCursor(values: readonly Value[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

/** It comes back from outside. Whatever it says, it only moves within what the caller may list. */
function parseCursor(cursor: string, types: readonly string[]): Value[] {
  const values = cursor.length <= MAX_CURSOR_CHARACTERS ? readJson(cursor) : undefined;
  const fits =
    Array.isArray(values) &&
    values.length === types.length &&
    values.every((value, index) => typeof value === types[index]);
  if (fits) return values as Value[];
  throw new SandboxError("INVALID_ARGUMENT", "The cursor is not from a page of this list", {
    hint: "Take `next` of the page before as it is, or leave the cursor out.",
  });
}

function readJson(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
