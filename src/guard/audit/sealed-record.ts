import crypto from "node:crypto";
import { canonicalJson, isCanonicalButLast, type Json } from "../../kit/canonical-json.js";
import type { AuditBody, AuditRecord } from "./record.js";

/** What the first record has in place of the hash of the one before. */
export const GENESIS = "0".repeat(64);

/** No line that we write is longer, whatever is in it. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

const SUFFIX_BYTES = suffix(GENESIS).length;

/** Gives a body its place in the chain. The line is canonical JSON with the hash as its last key. */
export function sealRecord(
  body: AuditBody,
  seq: number,
  prev: string,
): { readonly record: AuditRecord; readonly line: string } {
  const hashed = { ...body, seq, prev };
  const text = canonicalJson(hashed as unknown as Json);
  const hash = sha256(text);
  return { record: { ...hashed, hash }, line: `${text.slice(0, -1)}${suffix(hash)}\n` };
}

/** The record in a line, without its line break. Undefined when it is none, or not as it was sealed. */
export function unsealRecord(line: Buffer): AuditRecord | undefined {
  const text = line.toString("latin1");
  const record = parseText(text);
  if (record === undefined) return undefined;
  const end = text.length - SUFFIX_BYTES;
  if (text.slice(end) !== suffix(record.hash) || sha256(`${text.slice(0, end)}}`) !== record.hash)
    return undefined;
  // Another spelling of the same value would be a second text for one record.
  return isCanonicalButLast(text, record as unknown as { [key: string]: Json }) ? record : undefined;
}

/** The record in a line as it stands there, sealed or not. Undefined when it is none. */
export function parseRecord(line: Buffer): AuditRecord | undefined {
  return parseText(line.toString("latin1"));
}

function parseText(text: string): AuditRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { seq, prev, hash, id, event_type, timestamp } = value as Partial<AuditRecord>;
  const texts = [prev, hash, id, event_type, timestamp];
  if (!Number.isSafeInteger(seq) || texts.some((text) => typeof text !== "string")) return undefined;
  return value as AuditRecord;
}

function suffix(hash: string): string {
  return `,"hash":"${hash}"}`;
}

/** In hexadecimal digits, of the text as UTF-8. */
export function sha256(text: string): string {
  // In one call where this Node has it: half the time.
  return crypto.hash?.("sha256", text, "hex") ?? crypto.createHash("sha256").update(text).digest("hex");
}
