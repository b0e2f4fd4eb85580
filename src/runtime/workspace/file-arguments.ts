import { SandboxError, systemCode } from "../../kit/errors.js";
import { quoted } from "./file-errors.js";
import type { RelativePath } from "./relative-path.js";

/** A caller's content as bytes. */
export function bytesOf(data: Uint8Array | string): Uint8Array {
  if (typeof data === "string") return Buffer.from(data, "utf8");
  if (data instanceof Uint8Array) return data;
  throw new SandboxError("INVALID_ARGUMENT", `Expected text or bytes, got ${typeof data}`);
}

/** Permission bits of a new file. Set-user-id and its relatives are never set on a guest's files. */
export function requireMode(mode: number | undefined, fallback: number): number {
  if (mode === undefined) return fallback;
  if (Number.isInteger(mode) && mode >= 0 && mode <= 0o777) return mode;
  throw new SandboxError("INVALID_ARGUMENT", "Expected a mode between 0 and 0o777");
}

/** A count that a caller gave, or undefined. */
export function requireCount(name: string, value: number | undefined): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
  throw new SandboxError("INVALID_ARGUMENT", `Expected ${name} to be a whole number of at least 0`);
}

/** False when the error of a look at a path says that nothing stands there; any other error is thrown again. */
export function foundNothing(error: unknown): false {
  const code = systemCode(error);
  if (code === "FILE_NOT_FOUND" || code === "FILE_TYPE") return false;
  throw error;
}

/** Refuses to move something into itself. */
export function requireElsewhere(from: RelativePath, to: RelativePath): void {
  if (to.text !== from.text && !to.text.startsWith(`${from.text}/`)) return;
  throw new SandboxError("INVALID_ARGUMENT", `${quoted(from.text)} cannot be moved into itself`, {
    hint: "Name a path outside of it.",
  });
}
