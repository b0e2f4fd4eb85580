import { type ErrorCode, SandboxError, toSandboxError } from "../../../kit/errors.js";
import { oneLine } from "../../../kit/one-line.js";
import { type ToolResult, toResultJson } from "../../manager/index.js";
import { type InsideText, modelText } from "./model-text.js";

/** Whether it was done; if not, whether it failed, a person said no, or the policy did. */
export const TOOL_STATUSES = ["success", "error", "rejected", "denied"] as const;
export type ToolStatus = (typeof TOOL_STATUSES)[number];

/** The pictures that every model's API takes. */
export const IMAGE_TYPES = ["image/png", "image/jpeg"] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

/** A picture that came of a call, for models that can see. */
export interface ReplyImage {
  readonly mimeType: ImageType;
  /** base64 */
  readonly data: string;
}

/** What came of a tool call, for a program (`data`), a person (`summary`) and a model (`text`). */
export interface ToolReply {
  readonly status: ToolStatus;
  /** One line of 300 characters at most, in which nothing acts or hides. */
  readonly summary: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** What came from inside the sandbox is marked as data, and cut; then our own words. */
  readonly text: string;
  readonly images?: readonly ReplyImage[];
}

/** What a reply is made of. */
export interface ReplyParts extends Pick<ToolReply, "status" | "summary" | "data" | "images"> {
  /** Whatever comes from inside, names of files included; the first is the main one. */
  readonly inside?: readonly InsideText[];
  /** What we say ourselves, a line each; left out: the summary, where nothing comes from inside. */
  readonly words?: readonly string[];
  /** How many characters of what comes from inside a model is given; left out: as any tool. */
  readonly most?: number;
}

/** The one way to a reply: its summary is one line, and nothing from inside stands outside of marks in its text. */
export function createReply({ status, data, images, inside = [], most, ...parts }: ReplyParts): ToolReply {
  const summary = oneLine(parts.summary);
  const words = parts.words ?? (inside.length === 0 ? [summary] : []);
  return {
    status,
    summary,
    data,
    text: modelText(inside, words, most),
    ...(images !== undefined && { images }),
  };
}

/** The status that a result stands for. */
export function statusOf({ success, reason }: Pick<ToolResult, "success" | "reason">): ToolStatus {
  if (reason === "denied" || reason === "rejected") return reason;
  return success ? "success" : "error";
}

/** The reply to a call that policy or person did not allow; undefined: it was allowed. */
export function refusalReply(result: ToolResult): ToolReply | undefined {
  const status = statusOf(result);
  if (status !== "denied" && status !== "rejected") return undefined;
  const summary = `${status === "denied" ? "Denied" : "Rejected"}: ${result.error ?? "no reason was given"}`;
  return createReply({ status, summary, data: { ...toResultJson(result) }, words: [summary] });
}

/** Errors that say no rather than that something broke. */
const REFUSALS: readonly ErrorCode[] = [
  "POLICY_DENIED",
  "POLICY_UNENFORCEABLE",
  "LIMIT_UNENFORCEABLE",
  "BACKEND_TOO_WEAK",
  "SANDBOX_DISABLED",
];

/** The reply to a call that could not be carried out. */
export function errorReply(error: unknown): ToolReply {
  const { code, message, hint, retryable } = toSandboxError(error);
  const status: ToolStatus = REFUSALS.includes(code)
    ? "denied"
    : code === "CONFIRMATION_REJECTED"
      ? "rejected"
      : "error";
  return createReply({
    status,
    summary: message,
    data: { error: { code, message, ...(hint !== undefined && { hint }), retryable } },
    words: [`${code}: ${message}`, ...(hint === undefined ? [] : [hint])],
  });
}

/** A call that makes no sense, by name of what is wrong with it. */
export function invalidArguments(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}
