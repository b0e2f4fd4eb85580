import type { z } from "zod";
import { type ToolResult, toResultJson } from "../../core/manager/index.js";
import { type ExecutionReply, executionSummary } from "../http/index.js";

/** The JSON of a result, with what the server calls its execution and its session. */
export function toExecutionReply(
  result: ToolResult,
  about: { readonly executionId: string; readonly sessionId: string },
): ExecutionReply {
  return { ...toResultJson(result), ...about };
}

export type ExecutionSummary = z.output<typeof executionSummary>;

/** What the list of executions keeps of a result. */
export function toSummary(result: object): ExecutionSummary {
  return executionSummary.parse(result);
}
