import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import { type ErrorCode, SandboxError, systemCode } from "../../kit/errors.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { isMessageOfCause } from "./log.js";

/** What every failure looks like from outside. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly retryable: boolean;
  readonly requestId: string;
}

/** The Retry-After of errors that pass by themselves. */
export const RETRY_AFTER_SECONDS = 5;
const MAX_ISSUES = 20;

/** An error with a Retry-After. */
export class RetryLater extends SandboxError {
  readonly afterSeconds: number;

  constructor(code: ErrorCode, message: string, afterSeconds: number, hint: string, cause?: unknown) {
    super(code, message, { hint, cause });
    this.afterSeconds = afterSeconds;
  }
}

/** The server takes no new work. */
export function serverStopping(): RetryLater {
  return new RetryLater(
    "SERVER_STOPPING",
    "This server is stopping",
    RETRY_AFTER_SECONDS,
    "Try again after Retry-After seconds.",
  );
}

/** The error that a client gets for anything that was thrown. Details of unexpected errors are hidden. */
export function toPublicError(error: unknown): SandboxError {
  if (error instanceof SandboxError) {
    // Its message may be that of its cause.
    if (error.code === "INTERNAL") return internal(error);
    return isMessageOfCause(error) ? inOurWords(error) : error;
  }
  if (hasZodFastifySchemaValidationErrors(error)) return invalidRequest(error);
  const { code, statusCode } = (error ?? {}) as Partial<FastifyError>;
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new SandboxError("BODY_TOO_LARGE", "The request is larger than this server takes", {
        hint: "Send files with PUT /v1/sessions/{sessionId}/files/{path}, which streams them.",
      });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new SandboxError("MEDIA_TYPE_UNSUPPORTED", "Expected a request of another content type", {
        hint: "Send JSON with content-type: application/json; files with application/octet-stream; archives with application/x-tar.",
      });
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return invalid("Expected JSON, got an empty body", "Leave content-type out where there is no body.");
    case "FST_ERR_BAD_URL":
      return invalid("The address cannot be decoded", "Encode it as UTF-8 with percent signs.");
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return invalid(
      "The request cannot be read",
      "Send valid JSON, and as many bytes as content-length says.",
    );
  return internal(error);
}

/** Replies in the one shape of errors. Details that clients may not see go to the log. */
export function replyWithError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const told = toPublicError(error);
  if (told.httpStatus >= 500) logError(request, error);
  const afterSeconds = retryAfter(told);
  if (afterSeconds !== undefined) void reply.header("retry-after", String(afterSeconds));
  // HTTP and MCP clients expect this header.
  if (told.code === "UNAUTHENTICATED") void reply.header("www-authenticate", "Bearer");
  return reply
    .code(told.httpStatus)
    .type("application/json")
    .send(JSON.stringify(toErrorBody(told, request.id)));
}

function retryAfter(told: SandboxError): number | undefined {
  if (told instanceof RetryLater) return told.afterSeconds;
  return told.httpStatus === 503 && told.retryable ? RETRY_AFTER_SECONDS : undefined;
}

/** The shape of every error, also in streams. */
export function toErrorBody(error: SandboxError, requestId: string): ErrorBody {
  return { ...error.toJSON(), retryable: error.retryable, requestId };
}

/** Logs an error under the request's id. `log.ts` decides what of it may be logged. */
export function logError(request: Pick<FastifyRequest, "log">, error: unknown): void {
  request.log.error({ error }, "request failed");
}

function internal(cause: unknown): SandboxError {
  return new SandboxError("INTERNAL", "Something went wrong inside the server", {
    hint: "The server's log has it under this request id.",
    cause,
  });
}

/** Hides paths of this host; the code says what to do. */
function inOurWords(error: SandboxError): SandboxError {
  const code = systemCode(error.cause);
  const what =
    error.code === "SANDBOX_START_FAILED"
      ? "The sandbox could not be started"
      : "Something failed in the server";
  return new SandboxError(error.code, code === undefined ? what : `${what} (${code.slice(0, 40)})`, {
    hint: "The server's log has it under this request id.",
    cause: error,
  });
}

function invalid(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

interface Issue {
  readonly instancePath: string;
  readonly message?: string;
}

/** Names every field that is wrong. */
function invalidRequest(error: {
  readonly validation: readonly Issue[];
  readonly validationContext?: string;
}) {
  const { validation, validationContext = "body" } = error;
  const issues = validation.slice(0, MAX_ISSUES).map(({ instancePath, message }) => {
    const field = [validationContext, ...instancePath.split("/").filter((part) => part !== "")].join(".");
    return `${escapeUnsafe(field.slice(0, 200))}: ${escapeUnsafe((message ?? "invalid").slice(0, 500))}`;
  });
  const more = validation.length > issues.length ? [`and ${validation.length - issues.length} more`] : [];
  return invalid(
    `The request is not valid: ${[...issues, ...more].join("; ")}`,
    "/openapi.json says what each route takes.",
  );
}
