import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Database, Row, Statements } from "./database.js";
import { storeFailed } from "./failures.js";
import type { ApiKeyRecord, CreatedApiKey, KeyScopes, NewApiKey } from "./records.js";
import { fromRow, fromText, type Members, newId, toText } from "./rows.js";

/** An id of ours and 32 random bytes. */
const SECRET = /^sk_([0-9a-f]{24})_[\w-]{43}$/;
/** The hash of no secret: an unknown key id takes as long as a wrong secret. */
const NOBODYS_HASH = hashOf(randomBytes(32).toString("hex"));
/** A write for each request would be too dear. */
const LAST_USED_MS = 5 * 60_000;

const MEMBERS: Members<Omit<ApiKeyRecord, "scopes">> = {
  id: "plain",
  org: "plain",
  name: "plain",
  createdAt: "plain",
  expiresAt: "plain",
  revokedAt: "plain",
  lastUsedAt: "plain",
};

interface KeyRow extends Row {
  readonly id: string;
  readonly secret_hash: string;
  readonly scopes: string;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly last_used_at: number | null;
}

/** API keys, as hashes. */
export class ApiKeys {
  constructor(private readonly database: Database) {}

  create(org: string, key: NewApiKey): Promise<CreatedApiKey> {
    return insert(this.database, org, key);
  }

  /** The first key of all; undefined when any org has one already. Of two callers at once one gets it. */
  createFirst(org: string, key: NewApiKey): Promise<CreatedApiKey | undefined> {
    return this.database.transaction(async (statements) => {
      const [any] = await statements.query("SELECT id FROM api_keys LIMIT 1");
      return any === undefined ? insert(statements, org, key) : undefined;
    });
  }

  /** All of an org, the latest first, revoked and expired ones too. */
  async list(org: string): Promise<readonly ApiKeyRecord[]> {
    const rows = await this.database.query<KeyRow>(
      "SELECT * FROM api_keys WHERE org = ? ORDER BY created_at DESC, id DESC",
      [org],
    );
    return rows.map(toRecord);
  }

  /** False: there is no such key that is not revoked already. */
  async revoke(org: string, id: string): Promise<boolean> {
    const sql = "UPDATE api_keys SET revoked_at = ? WHERE org = ? AND id = ? AND revoked_at IS NULL";
    return (await this.database.run(sql, [Date.now(), org, id])) === 1;
  }

  /** The key of a presented secret. Undefined whatever is wrong with it: malformed, unknown, expired, revoked. */
  async find(secret: string): Promise<ApiKeyRecord | undefined> {
    const id = SECRET.exec(secret)?.[1];
    if (id === undefined) return undefined;
    const [row] = await this.database.query<KeyRow>("SELECT * FROM api_keys WHERE id = ?", [id]);
    const expected = row === undefined ? NOBODYS_HASH : Buffer.from(row.secret_hash, "hex");
    const presented = hashOf(secret);
    const isRight = expected.length === presented.length && timingSafeEqual(expected, presented);
    const now = Date.now();
    if (!isRight || row === undefined || row.revoked_at !== null) return undefined;
    if (row.expires_at !== null && row.expires_at <= now) return undefined;
    await this.#noteUse(row, now);
    return toRecord(row);
  }

  async #noteUse({ id, last_used_at }: KeyRow, now: number): Promise<void> {
    if (last_used_at !== null && last_used_at > now - LAST_USED_MS) return;
    // The key is right whether or not this can be written, on a full disk for example.
    await this.database
      .run("UPDATE api_keys SET last_used_at = ? WHERE id = ?", [now, id])
      .catch(() => undefined);
  }
}

async function insert(
  statements: Statements,
  org: string,
  { name, scopes, expiresAt }: NewApiKey,
): Promise<CreatedApiKey> {
  const id = newId();
  const secret = `sk_${id}_${randomBytes(32).toString("base64url")}`;
  const createdAt = Date.now();
  await statements.run(
    `INSERT INTO api_keys (id, org, name, secret_hash, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    [id, org, name, hashOf(secret).toString("hex"), toText({ ...scopes }), createdAt, expiresAt ?? null],
  );
  const key = { id, org, name, scopes, createdAt, expiresAt, revokedAt: undefined, lastUsedAt: undefined };
  return { key, secret };
}

/** The secret has 256 random bits: nothing slower is needed. */
function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function toRecord(row: KeyRow): ApiKeyRecord {
  return { ...fromRow(row, MEMBERS), scopes: parseScopes(row.scopes) };
}

/** The database may contain anything; what cannot be parsed gives no right. */
function parseScopes(text: string): KeyScopes {
  const { roles, readOnly, approve, admin } = (fromText(text) ?? {}) as unknown as KeyScopes;
  const isClear =
    (roles === "all" || (Array.isArray(roles) && roles.every((role) => typeof role === "string"))) &&
    [readOnly, approve, admin].every((each) => typeof each === "boolean");
  if (!isClear) throw storeFailed("A key's scopes in the store are invalid", { hint: "Revoke that key." });
  return { roles, readOnly, approve, admin };
}
