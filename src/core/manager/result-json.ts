import { basename } from "node:path";
import type * as zod from "zod";
import { RISK_LEVELS } from "../../guard/analysis/index.js";
import type { PolicyDecision } from "../../guard/policy/index.js";
import { REASONS } from "../../runtime/sandbox/index.js";
import type { ToolResult, UnversionedResult } from "./call/tool-call.js";

/** Counts up when a field changes its meaning or goes; a new field alone does not count. */
const RESULT_VERSION = 1;

/** The JSON of a result, the same from the library, the command line, HTTP and MCP. */
export interface ResultJson extends Omit<ToolResult, "decision" | "risk" | "outputFiles"> {
  /** Of a server's list of executions. */
  readonly executionId?: string;
  /** The policy's rule that decided: `policy.yaml: policies.tools.shell_exec (line 12)`. */
  readonly rule?: string;
  readonly risk?: Pick<NonNullable<ToolResult["risk"]>, "level" | "findings">;
}

export function toResultJson(result: ToolResult): ResultJson {
  const { decision, risk, outputFiles: _, ...rest } = result;
  return {
    ...rest,
    ...(decision !== undefined && { rule: ruleName(decision) }),
    ...(risk !== undefined && { risk: { level: risk.level, findings: risk.findings } }),
  };
}

export type { ToolResult };

/** Notes the version, and makes `JSON.stringify` of a result give that JSON. */
export function withJson(given: UnversionedResult): ToolResult {
  const result: ToolResult = { version: RESULT_VERSION, ...given };
  return Object.defineProperty(result, "toJSON", { value: () => toResultJson(result) });
}

/** Where the policy's file lies is this host's business. */
export function ruleName({ rule: { source, path, line } }: Pick<PolicyDecision, "rule">): string {
  return path === "built in" ? path : `${basename(source)}: ${path} (line ${line})`;
}

/** Takes zod from its caller: a command line that prints a result does not load it. */
export function createResultSchema({ z }: typeof zod) {
  const path = z.string().describe("Relative to the workspace. Written by programs inside.");
  const level = z.enum(RISK_LEVELS);
  const finding = z.object({
    rule: z.string(),
    level,
    line: z.number(),
    column: z.number(),
    excerpt: z.string(),
    why: z.string(),
  });
  const fields = {
    version: z.literal(RESULT_VERSION).describe("Of this format."),
    executionId: z.string().exactOptional().describe("Of a server's list of executions."),
    sessionId: z.string(),
    success: z.boolean(),
    reason: z.enum(REASONS).describe("Why it ended."),
    exitCode: z.number().nullable(),
    signal: z.string().nullable(),
    stdout: z.string(),
    stderr: z.string(),
    stdoutBase64: z
      .string()
      .exactOptional()
      .describe("The bytes of `stdout`, where they are not all UTF-8. Left out: they are those of the text."),
    stderrBase64: z.string().exactOptional(),
    truncated: z.boolean().describe("Output was cut."),
    error: z.string().exactOptional().describe("One line for a person when it did not succeed."),
    executionTimeMs: z.number(),
    cpuTimeMs: z.number(),
    memoryUsedMb: z.number(),
    sandboxType: z.string().describe("The backend's name; none: nothing ran."),
    sandboxId: z.string(),
    warm: z.boolean().describe("An interpreter that was already started ran it."),
    filesWritten: z.array(path),
    filesDeleted: z.array(path),
    fileChanges: z.array(z.object({ path, change: z.enum(["created", "modified", "deleted"]) })),
    filesWrittenTruncated: z
      .boolean()
      .exactOptional()
      .describe("More was written or deleted than is listed."),
    filesRead: z.array(path).exactOptional(),
    filesReadTruncated: z.boolean().exactOptional(),
    network: z
      .object({
        bytesSent: z.number(),
        bytesReceived: z.number(),
        denied: z.array(z.string()),
        failed: z.array(z.string()),
      })
      .exactOptional()
      .describe("Left out: the sandbox had no egress."),
    limitsNotEnforced: z
      .array(z.string())
      .exactOptional()
      .describe("Default limits that the host of the sandbox cannot enforce. Left out: none."),
    rule: z.string().exactOptional().describe("The policy's rule that decided."),
    risk: z
      .object({ level, findings: z.array(finding) })
      .exactOptional()
      .describe("Left out: the code was not assessed."),
    confirmation: z
      .object({ approved: z.boolean(), edited: z.boolean(), by: z.string().exactOptional() })
      .exactOptional()
      .describe("What the person who was asked decided."),
    auditId: z.string().exactOptional().describe("The record in the audit log."),
    contextId: z.string().exactOptional(),
    executionCount: z.number().exactOptional(),
    contextEnded: z.string().exactOptional().describe("Why the context ended in this run."),
    contextRestarted: z
      .string()
      .exactOptional()
      .describe("Why the context had ended before: its state is lost."),
    results: z
      .array(z.object({ data: z.record(z.string(), z.unknown()), isMain: z.boolean() }))
      .exactOptional()
      .describe("What code in a context showed. Clean it before a page shows it."),
    resultsTruncated: z.boolean().exactOptional(),
    exception: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).exactOptional(),
  } satisfies Record<keyof ResultJson, zod.ZodType>;
  return z.object(fields);
}
