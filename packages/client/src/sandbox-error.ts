import type { components } from "./api-types.js";

/** What went wrong, in one word. docs/errors.md of the product lists them. */
export type ErrorCode = components["schemas"]["ErrorCode"];

export interface SandboxErrorInit {
  /** What the reader can do about it. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** Whether the same request may succeed later. Default false. */
  readonly retryable?: boolean;
}

/** Every failure that the client throws. Branch on `code`; never parse `message`. */
export class SandboxError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, { hint, cause, retryable = false }: SandboxErrorInit = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SandboxError";
    this.code = code;
    this.hint = hint;
    this.retryable = retryable;
  }
}

/** What its caller's signal ended. */
export function cancelled(cause: unknown): SandboxError {
  return new SandboxError("CANCELLED", "The call was cancelled", { cause });
}
