import { SandboxError } from "../../../kit/errors.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { FileTask, GuardedFiles } from "./call-kind.js";
import type { ToolCall, ToolResult } from "./tool-call.js";

/** What an agent wants done with its session's files, and on whose behalf. */
export interface FileCall<Value> extends SessionTask {
  /** What it will write, by path: looked at like the input files of a program. A stream takes `isPlaced`. */
  readonly content?: ToolCall["files"];
  /** True: `content` is written before the work, as the input files of a program are. */
  readonly isPlaced?: boolean | undefined;
  readonly work: (files: GuardedFiles) => Promise<Value>;
}

/** Something that is done with a session's sandbox itself, such as with its contexts or its snapshots. */
export interface SandboxCall<Value> extends SessionTask {
  readonly work: (sandbox: RunningSandbox) => Promise<Value>;
}

/** What every call of a session says of itself when it runs no program. */
export interface SessionTask
  extends Pick<ToolCall, "agentId" | "orgId" | "role" | "backend" | "signal" | "requestId" | "language">,
    Pick<FileTask, "summary" | "paths" | "refusal" | "touchesAllFiles" | "asksPerson"> {
  readonly sessionId: string;
  /** What the policy calls it: `file_read`, `file_write`, … */
  readonly tool: string;
}

/** The outcome; `value` is left out where the call was refused. */
export interface FileResult<Value> extends ToolResult {
  readonly value?: Value;
}

/** What the work of a call came to. Throws where it was not allowed to happen. */
export function workValue<Value>(result: FileResult<Value>): Value {
  if ("value" in result) return result.value as Value;
  const why = result.error ?? "It was not done";
  if (result.reason === "cancelled") throw new SandboxError("CANCELLED", why);
  throw new SandboxError(result.reason === "rejected" ? "CONFIRMATION_REJECTED" : "POLICY_DENIED", why);
}

/** The tool call that a file call is to every step. */
export function toolCallOf(call: SessionTask & Pick<FileCall<unknown>, "content">): ToolCall {
  if (typeof call !== "object" || call === null || typeof call.sessionId !== "string") {
    throw new SandboxError("INVALID_ARGUMENT", "A file call names the session whose files it is about", {
      hint: "Pass a sessionId.",
    });
  }
  const { sessionId, agentId, orgId, role, backend, signal, requestId, language, tool, content } = call;
  return { sessionId, agentId, orgId, role, backend, signal, requestId, language, tool, files: content };
}
