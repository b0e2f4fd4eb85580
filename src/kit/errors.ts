/** What each code means to a caller: HTTP status, exit status of the command line, worth a retry or not. */
export const ERROR_CODES = {
  // The caller's mistake
  INVALID_ARGUMENT: { http: 400, exit: 64, retryable: false },
  SESSION_NAME_INVALID: { http: 400, exit: 64, retryable: false },
  LANGUAGE_UNKNOWN: { http: 400, exit: 64, retryable: false },
  BACKEND_UNKNOWN: { http: 400, exit: 64, retryable: false },
  CONFIG_INVALID: { http: 400, exit: 78, retryable: false },
  // Deciding
  POLICY_INVALID: { http: 400, exit: 78, retryable: false },
  POLICY_DENIED: { http: 403, exit: 77, retryable: false },
  POLICY_UNENFORCEABLE: { http: 422, exit: 69, retryable: false },
  BACKEND_TOO_WEAK: { http: 403, exit: 77, retryable: false },
  CONFIRMATION_REJECTED: { http: 403, exit: 77, retryable: false },
  // Remembering
  AUDIT_FAILED: { http: 500, exit: 74, retryable: true },
  AUDIT_BROKEN: { http: 500, exit: 65, retryable: false },
  STORE_FAILED: { http: 503, exit: 74, retryable: true },
  CONFLICT: { http: 409, exit: 73, retryable: false },
  // Files
  FILE_NOT_FOUND: { http: 404, exit: 66, retryable: false },
  FILE_EXISTS: { http: 409, exit: 73, retryable: false },
  FILE_TYPE: { http: 409, exit: 65, retryable: false },
  FILE_TOO_LARGE: { http: 413, exit: 65, retryable: false },
  FILE_DENIED: { http: 403, exit: 77, retryable: false },
  PATH_TRAVERSAL: { http: 400, exit: 77, retryable: false },
  DISK_FULL: { http: 507, exit: 74, retryable: true },
  FILE_FAILED: { http: 500, exit: 74, retryable: false },
  // Sessions and lifecycle
  SESSION_NOT_FOUND: { http: 404, exit: 66, retryable: false },
  SNAPSHOT_NOT_FOUND: { http: 404, exit: 66, retryable: false },
  CONTEXT_NOT_FOUND: { http: 404, exit: 66, retryable: false },
  CONTEXT_ENDED: { http: 409, exit: 69, retryable: false },
  CHECKPOINT_NOT_FOUND: { http: 404, exit: 66, retryable: false },
  CHECKPOINT_FAILED: { http: 409, exit: 69, retryable: false },
  SANDBOX_DISABLED: { http: 403, exit: 69, retryable: false },
  SANDBOX_NOT_RUNNING: { http: 409, exit: 69, retryable: true },
  SANDBOX_BUSY: { http: 409, exit: 75, retryable: true },
  SANDBOX_START_FAILED: { http: 503, exit: 70, retryable: true },
  POOL_EXHAUSTED: { http: 503, exit: 75, retryable: true },
  SANDBOX_LOST: { http: 502, exit: 70, retryable: true },
  // What this host or backend can do
  BACKEND_UNAVAILABLE: { http: 503, exit: 69, retryable: false },
  IMAGE_MISSING: { http: 503, exit: 69, retryable: false },
  LIMIT_UNENFORCEABLE: { http: 422, exit: 69, retryable: false },
  LANGUAGE_UNAVAILABLE: { http: 422, exit: 69, retryable: false },
  UNSUPPORTED: { http: 501, exit: 69, retryable: false },
  // Running
  COMMAND_NOT_FOUND: { http: 422, exit: 127, retryable: false },
  COMMAND_NOT_EXECUTABLE: { http: 422, exit: 126, retryable: false },
  EXECUTION_FAILED: { http: 500, exit: 70, retryable: false },
  PORT_FAILED: { http: 502, exit: 69, retryable: true },
  CANCELLED: { http: 499, exit: 130, retryable: false },
  // The guest
  WIRE_VIOLATION: { http: 502, exit: 70, retryable: false },
  // The server
  UNAUTHENTICATED: { http: 401, exit: 77, retryable: false },
  FORBIDDEN: { http: 403, exit: 77, retryable: false },
  NOT_FOUND: { http: 404, exit: 66, retryable: false },
  METHOD_NOT_ALLOWED: { http: 405, exit: 64, retryable: false },
  UPGRADE_REQUIRED: { http: 426, exit: 64, retryable: false },
  BODY_TOO_LARGE: { http: 413, exit: 65, retryable: false },
  MEDIA_TYPE_UNSUPPORTED: { http: 415, exit: 64, retryable: false },
  SESSION_ELSEWHERE: { http: 421, exit: 69, retryable: true },
  RATE_LIMITED: { http: 429, exit: 75, retryable: true },
  SERVER_STOPPING: { http: 503, exit: 75, retryable: true },
  SERVER_UNREACHABLE: { http: 503, exit: 69, retryable: true },
  // Ours
  INTERNAL: { http: 500, exit: 70, retryable: false },
} as const satisfies Record<string, { http: number; exit: number; retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface SandboxErrorInit {
  /** What the reader can do about it. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Whether the same call may succeed later, where that is not what the code says. */
  readonly retryable?: boolean;
}

/** Every failure we throw. Branch on `code`; never parse `message`. */
export class SandboxError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, init: SandboxErrorInit = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = "SandboxError";
    this.code = code;
    this.hint = init.hint;
    this.retryable = init.retryable ?? ERROR_CODES[code].retryable;
  }

  get httpStatus(): number {
    return ERROR_CODES[this.code].http;
  }

  get exitStatus(): number {
    return ERROR_CODES[this.code].exit;
  }

  toJSON(): { code: ErrorCode; message: string; hint?: string } {
    return { code: this.code, message: this.message, ...(this.hint !== undefined && { hint: this.hint }) };
  }
}

/** Turns anything thrown into a SandboxError, keeping one that already is. */
export function toSandboxError(error: unknown, code: ErrorCode = "INTERNAL"): SandboxError {
  if (error instanceof SandboxError) return error;
  // Two failures, the second while things were closed: the first one says why.
  if (error instanceof Error && "suppressed" in error) return toSandboxError(error.suppressed, code);
  const message = error instanceof Error ? error.message : String(error);
  return new SandboxError(code, message, { cause: error });
}

/** The `code` of a Node system error ("ENOENT"), or undefined. */
export function systemCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
