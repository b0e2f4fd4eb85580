import { createHash } from "node:crypto";
import { SandboxError } from "../../kit/errors.js";
import { escapeFileName } from "../../kit/escape-unsafe.js";

const MAX_KEY_CHARACTERS = 200;
const MAX_PREFIX_CHARACTERS = 32;
/** 128 bits: two keys that share a directory cannot be found. */
const HASH_HEX_DIGITS = 32;

/** Returns the key of a session when it can be one; throws SESSION_NAME_INVALID otherwise. */
export function validateSessionKey(key: unknown): string {
  if (typeof key !== "string") throw invalid(`expected text, got ${key === null ? "null" : typeof key}`);
  if (key === "") throw invalid("it is empty");
  // The first test keeps a gigabyte of text from being split into characters.
  if (key.length > 2 * MAX_KEY_CHARACTERS || [...key].length > MAX_KEY_CHARACTERS) {
    throw invalid(`it is longer than ${MAX_KEY_CHARACTERS} characters`);
  }
  if (/\p{Cs}/u.test(key)) throw invalid("it holds half of a character (a lone surrogate)");
  if (/[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(key))
    throw invalid(`"${escapeFileName(key)}" holds a control character`);
  if (/[/\\]/.test(key)) throw invalid(`"${escapeFileName(key)}" holds a slash or a backslash`);
  return key;
}

/** A directory name for a session: readable, and never the same for two different keys. */
export function sessionDirectoryName(key: string): string {
  validateSessionKey(key);
  const prefix = key
    .slice(0, 4 * MAX_PREFIX_CHARACTERS)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, MAX_PREFIX_CHARACTERS)
    .replace(/-$/, "");
  const hash = createHash("sha256").update(key, "utf8").digest("hex").slice(0, HASH_HEX_DIGITS);
  return `${prefix === "" ? "session" : prefix}-${hash}`;
}

function invalid(why: string): SandboxError {
  return new SandboxError("SESSION_NAME_INVALID", `Invalid session name: ${why}`, {
    hint: `Use 1 to ${MAX_KEY_CHARACTERS} characters without slashes, backslashes and control characters, such as "telegram:42".`,
  });
}
