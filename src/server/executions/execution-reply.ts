import { basename } from "node:path";
import type { z } from "zod";
import type { ToolResult } from "../../core/manager/index.js";
import type { executionResult } from "../http/schemas.js";
import type { Json } from "../store/index.js";

export type ExecutionReply = z.output<typeof executionResult>;

/** The reply for a result. */
export function toExecutionReply(
  result: ToolResult,
  about: { executionId: string; sessionId: string },
): ExecutionReply {
  const { decision, risk, confirmation, auditId, filesRead, network, error } = result;
  const { contextId, executionCount, results, resultsTruncated, exception } = result;
  return {
    ...about,
    success: result.success,
    reason: result.reason,
    exitCode: result.exitCode,
    signal: result.signal,
    stdout: result.stdout,
    stderr: result.stderr,
    truncated: result.truncated,
    ...(error !== undefined && { error }),
    executionTimeMs: result.executionTimeMs,
    cpuTimeMs: result.cpuTimeMs,
    memoryUsedMb: result.memoryUsedMb,
    backend: result.sandboxType,
    warm: result.warm,
    ...(filesRead !== undefined && { filesRead: [...filesRead] }),
    filesWritten: [...result.filesWritten],
    filesDeleted: [...result.filesDeleted],
    ...(network !== undefined && { network: { ...network } }),
    ...(decision !== undefined && { rule: ruleOf(decision.rule) }),
    ...(risk !== undefined && {
      risk: { level: risk.level, findings: risk.findings.map((finding) => ({ ...finding })) },
    }),
    ...(confirmation !== undefined && { confirmation }),
    ...(auditId !== undefined && { auditId }),
    ...(contextId !== undefined && { contextId }),
    ...(executionCount !== undefined && { executionCount }),
    ...(results !== undefined && {
      results: results.map(({ data, isMain }) => ({ data: { ...data }, isMain })),
    }),
    ...(resultsTruncated !== undefined && { resultsTruncated }),
    ...(exception !== undefined && { exception }),
  };
}

/** What the list of executions keeps: neither code nor output. */
export function toSummary({ success, reason, exitCode, executionTimeMs, auditId }: ToolResult): Json {
  return { success, reason, exitCode, executionTimeMs, auditId };
}

/** The policy's path on this host stays private. */
function ruleOf({ source, path, line }: { source: string; path: string; line: number }): string {
  return path === "built in" ? path : `${basename(source)}: ${path} (line ${line})`;
}
