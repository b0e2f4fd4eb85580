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

/** Throws for the first of what is left when the known options are taken away. */
export function refuseUnknown(rest: object): void {
  for (const name of Object.keys(rest))
    throw new SandboxError("INVALID_ARGUMENT", `There is no option ${JSON.stringify(name)}`, {
      hint: "Is it misspelt? Leave it out.",
    });
}
