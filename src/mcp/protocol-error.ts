import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import type { ToolReply } from "../core/tools/index.js";
import { type ErrorCode as OurCode, SandboxError, toSandboxError } from "../kit/errors.js";

/** MCP's own code for a resource that is not there. */
const RESOURCE_NOT_FOUND = -32002;
const SERVER_ERROR = -32000;

const CODES: Readonly<Partial<Record<OurCode, number>>> = {
  INVALID_ARGUMENT: ErrorCode.InvalidParams,
  PATH_TRAVERSAL: ErrorCode.InvalidParams,
  FILE_NOT_FOUND: RESOURCE_NOT_FOUND,
};

/** What the SDK makes an error response of: a number of the protocol, and words as they are. */
export class ProtocolError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }
}

/** Whatever went wrong with a request, as the protocol tells it; our own code goes along. */
export function protocolError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const { code, message, hint, retryable } = toSandboxError(error);
  if (code === "INTERNAL") return new ProtocolError(ErrorCode.InternalError, MISTAKE, { code, retryable });
  const text = hint === undefined ? message : `${message}. ${hint}`;
  return new ProtocolError(CODES[code] ?? SERVER_ERROR, text, { code, retryable });
}

/** A mistake of ours may have words of the host in it, which are for its log only. */
const MISTAKE = "Something went wrong in Skerry itself; its standard error says what";

/** The reply to a call that failed by a mistake of ours, and what the log is told; undefined: it is none. */
export function internalFailureOf(
  reply: ToolReply,
): { readonly reply: ToolReply; readonly log: Error } | undefined {
  const { error } = reply.data as { readonly error?: { readonly code?: unknown } | null };
  if (error?.code !== "INTERNAL") return undefined;
  return {
    reply: { status: "error", summary: MISTAKE, data: {}, text: `INTERNAL: ${MISTAKE}` },
    log: new SandboxError("INTERNAL", reply.summary),
  };
}
