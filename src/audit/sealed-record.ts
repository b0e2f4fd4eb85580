import { createHash } from "node:crypto";
import { canonicalJson, type Json } from "./canonical-json.js";
import type { AuditBody, AuditRecord } from "./record.js";

/** What the first record has in place of the hash of the one before. */
export const GENESIS = "0".repeat(64);

/** No line that we write is longer, whatever is in it. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

const SUFFIX_BYTES = `,"hash":"${GENESIS}"}`.length;
const SUFFIX = /^,"hash":"([0-9a-f]{64})"\}$/;

/** Gives a body its place in the chain. The line is canonical JSON with the hash as its last key. */
export function sealRecord(
  body: AuditBody,
  seq: number,
  prev: string,
): { readonly record: AuditRecord; readonly line: string } {
  const hashed = { ...body, seq, prev };
  const text = canonicalJson(hashed as unknown as Json);
  const hash = createHash("sha256").update(text, "latin1").digest("hex");
  return { record: { ...hashed, hash }, line: `${text.slice(0, -1)},"hash":"${hash}"}\n` };
}

/** The record in a line, without its line break. Undefined when it is none, or not as it was sealed. */
export function unsealRecord(line: Buffer): AuditRecord | undefined {
  const record = parseRecord(line);
  if (record === undefined) return undefined;
  const { hash, ...hashed } = record;
  const digest = createHash("sha256").update(line.subarray(0, -SUFFIX_BYTES)).update("}").digest("hex");
  if (digest !== hash || SUFFIX.exec(line.toString("latin1", line.length - SUFFIX_BYTES))?.[1] !== hash) {
    return undefined;
  }
  // Another spelling of the same value would be a second text for one record.
  const text = line.toString("latin1", 0, line.length - SUFFIX_BYTES);
  return canonicalJson(hashed as unknown as Json) === `${text}}` ? record : undefined;
}

/** The record in a line as it stands there, sealed or not. Undefined when it is none. */
export function parseRecord(line: Buffer): AuditRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line.toString("latin1"));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { seq, prev, hash, id, event_type, timestamp } = value as Partial<AuditRecord>;
  const texts = [prev, hash, id, event_type, timestamp];
  if (!Number.isSafeInteger(seq) || texts.some((text) => typeof text !== "string")) return undefined;
  return value as AuditRecord;
}
