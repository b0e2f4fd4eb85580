import type { ToolCall } from "../../core/manager/index.js";
import { textOf } from "../../core/manager/index.js";
import { MAX_LISTED_COMMAND_CHARACTERS } from "../../kit/code-limits.js";
import { toMoment } from "../http/index.js";
import type { LiveCall } from "./live-call.js";

/** The beginning of what runs. A copy: a part of a text would keep all of it in memory. */
export function shownCommand(call: Pick<ToolCall, "code" | "command" | "argv">): string {
  return Buffer.from(textOf(call).slice(0, MAX_LISTED_COMMAND_CHARACTERS)).toString();
}

/** What callers are told of any call that goes on without a request. */
export function toLiveReply({ id, owner, state, startedAt, endedAt, outcome }: LiveCall) {
  const { result, failure } = outcome ?? {};
  return {
    id,
    state,
    startedAt: toMoment(startedAt),
    ...(owner.role !== undefined && { role: owner.role }),
    ...(endedAt !== undefined && { endedAt: toMoment(endedAt) }),
    ...(result !== undefined && {
      reason: result.reason,
      exitCode: result.exitCode,
      signal: result.signal,
      ...(result.error !== undefined && { error: result.error }),
      ...(result.auditId !== undefined && { auditId: result.auditId }),
    }),
    ...(failure !== undefined && { code: failure.code, error: failure.message }),
  };
}
