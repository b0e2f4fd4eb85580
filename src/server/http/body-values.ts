import { SandboxError } from "../../kit/errors.js";

/** A program with its files, arguments and variables has far fewer. */
const MOST_VALUES = 20_000;

/**
 * Refuses a body with so many values that validating them, and reporting each, would block the event loop.
 * INVALID_ARGUMENT.
 */
export function checkValues(body: unknown): void {
  let count = 0;
  const rest: unknown[] = [body];
  while (rest.length > 0) {
    const value = rest.pop();
    // Streams and bytes are not counted.
    if (!isPlain(value)) continue;
    for (const key in value) {
      if (++count > MOST_VALUES) throw tooMany();
      const each = (value as Record<string, unknown>)[key];
      if (typeof each === "object" && each !== null) rest.push(each);
    }
  }
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}

function tooMany(): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `The request has more than ${MOST_VALUES} values`, {
    hint: "Send fewer at once; upload many files as an archive (POST /v1/sessions/{sessionId}/snapshots/import).",
  });
}
