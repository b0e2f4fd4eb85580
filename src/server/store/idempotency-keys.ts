import { createHash } from "node:crypto";
import { canonicalJson } from "../../kit/canonical-json.js";
import { SandboxError } from "../../kit/errors.js";
import type { Statements } from "./database.js";
import type { Idempotency, Json } from "./records.js";

/**
 * Takes a caller's key for a session that is being made, within its transaction. Resolves to the id of the session that
 * the key stands for: this one, or an earlier one. CONFLICT: it came with another request before.
 */
export async function takeIdempotencyKey(
  statements: Statements,
  org: string,
  { key, request }: Idempotency,
  session: string,
): Promise<string> {
  const fingerprint = fingerprintOf(request);
  const isNew = await statements.run(
    `INSERT INTO idempotency_keys (org, key, fingerprint, session, created_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
    [org, key, fingerprint, session, Date.now()],
  );
  if (isNew === 1) return session;
  const [earlier] = await statements.query<{ fingerprint: string; session: string }>(
    "SELECT fingerprint, session FROM idempotency_keys WHERE org = ? AND key = ?",
    [org, key],
  );
  if (earlier?.fingerprint === fingerprint) return earlier.session;
  throw new SandboxError("CONFLICT", "The idempotency key was used for another request", {
    hint: "Use a new key for a new request.",
  });
}

function fingerprintOf(request: Json): string {
  // What JSON does not say makes no difference: members that are undefined.
  const plain = JSON.parse(JSON.stringify(request));
  return createHash("sha256").update(canonicalJson(plain)).digest("hex");
}
