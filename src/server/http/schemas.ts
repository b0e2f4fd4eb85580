import * as zod from "zod";
import { z } from "zod";
import { createResultSchema, type ResultJson } from "../../core/manager/index.js";
import { TEST_OUTCOMES } from "../../core/tools/index.js";
import { ERROR_CODES, type ErrorCode } from "../../kit/errors.js";
import type { PoolStatus } from "../../runtime/pool/index.js";
import { REASONS } from "../../runtime/sandbox/index.js";

const codes = Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]];
/** Branch on these; messages may change. */
const errorCode = z.enum(codes).meta({ id: "ErrorCode" });

/** What every failure looks like. */
export const errorBody = z
  .object({
    code: errorCode,
    message: z.string(),
    hint: z.string().optional().describe("What to do about it."),
    retryable: z.boolean().describe("Whether the same request may succeed later."),
    requestId: z.string(),
  })
  .meta({ id: "Error" });

/** A reply, and the errors that any route may answer with. */
export function replies<T extends z.ZodType, S extends 200 | 201 = 200>(reply: T, status = 200 as S) {
  const success = { [status]: reply } as { [K in S]: T };
  return { ...success, "4xx": errorBody, "5xx": errorBody };
}

export const sessionId = z
  .string()
  .min(1)
  .max(400)
  .describe("1 to 200 characters without slashes and controls.");
export const sessionParams = z.object({ sessionId });
export const moment = z.iso.datetime();
export const cursor = z.string().max(2000).describe("`next` of the page before.");
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  cursor: cursor.optional(),
});

/** One page of a list. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), next: z.string().optional().describe("Left out: the last page.") });
}

const sessionUid = z.string();
/** Whose something is, in lists. */
export const ofSession = {
  sessionId: z.string().optional().describe("Left out: the server has forgotten the session."),
  sessionUid: sessionUid.optional(),
};
export const sessionFilter = z
  .string()
  .max(400)
  .optional()
  .describe("The sessionId of an active session, or the sessionUid of any.");

export const session = z
  .object({
    sessionId: z.string(),
    sessionUid: sessionUid.describe(
      "Never used again, as a sessionId may be; the session_id of audit records.",
    ),
    role: z.string().optional(),
    backend: z.string().optional(),
    state: z.enum(["active", "ended"]),
    createdAt: moment,
    renewedAt: moment,
    expiresAt: moment.optional().describe("Left out: until it is deleted."),
    endedAt: moment.optional(),
    endedWhy: z.enum(["deleted", "expired", "server-lost", "failed"]).optional(),
  })
  .meta({ id: "Session" });

export const ttlMs = z
  .number()
  .int()
  .min(1000)
  .max(2 ** 43)
  .nullable()
  .describe("How long it lives; null: until it is deleted. Left out: server.sessions.ttl.");
export const roleName = z.string().min(1).max(200).describe("A role of the policy, if the key may have it.");
export const agentId = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => !name.startsWith("key:"), "names that begin with key: are reserved for keys")
  .describe("In whose name, for the audit record; not `key:…`. Left out: the key.");

const resultSchema = createResultSchema(zod);
/** What came of an execution on a server. */
export type ExecutionReply = ResultJson & { readonly executionId: string };
export const executionResult: z.ZodType<ExecutionReply> = resultSchema
  .extend({ executionId: z.string() })
  .meta({ id: "ExecutionResult" });

/** What the list of executions keeps: neither code nor output. */
export const executionSummary = resultSchema
  .pick({ success: true, reason: true, exitCode: true, executionTimeMs: true, auditId: true })
  .partial()
  .extend({
    outcome: z.enum(TEST_OUTCOMES).optional().describe("Of tests."),
    code: errorCode.optional().describe("Why it could not run."),
  })
  .meta({ id: "ExecutionSummary" });

export const execution = z
  .object({
    id: z.string(),
    ...ofSession,
    tool: z.string(),
    state: z.enum(["running", "done", "interrupted"]),
    startedAt: moment,
    endedAt: moment.optional(),
    result: executionSummary.nullable().describe("Null until it is done."),
  })
  .meta({ id: "Execution" });

const liveCall = {
  id: z.string().describe("Also of the execution."),
  role: z.string().optional(),
  state: z.enum(["starting", "running", "ended"]).describe("`starting` also while it waits for approval."),
  startedAt: moment,
  endedAt: moment.optional(),
  reason: z.enum(REASONS).optional().describe("Why it ended."),
  exitCode: z.number().nullable().optional(),
  signal: z.string().nullable().optional(),
  code: errorCode.optional().describe("Why it did not start, or was lost."),
  error: z.string().optional(),
  auditId: z.string().optional(),
};

export const serverProcess = z
  .object({
    ...liveCall,
    command: z.string().describe("What runs, as it was given; the beginning of it."),
    outputBytes: z.number().describe("What it has printed so far."),
    result: executionResult
      .optional()
      .describe("What came of it, once it has ended; the list leaves it out. Its logs have its output."),
  })
  .meta({ id: "Process" });

export const processLogs = z
  .object({
    items: z.array(
      z.object({
        stream: z.enum(["stdout", "stderr"]),
        text: z.string().describe("Written by a program inside: make it visible before you show it."),
      }),
    ),
    next: z.string().describe("The cursor to go on with."),
    dropped: z.number().describe("Bytes after the cursor that are no longer kept."),
    ended: z.boolean().describe("The process has ended, and nothing comes after these."),
  })
  .meta({ id: "ProcessLogs" });

export const serverTerminal = z
  .object({
    ...liveCall,
    command: z.string().optional().describe("What runs on it, the beginning of it; left out: a shell."),
    rows: z.number(),
    columns: z.number(),
    outputBytes: z.number().describe("What was on it so far: a cursor at its end."),
    watchers: z.number().describe("Connections to it."),
  })
  .meta({ id: "Terminal" });

export const fileEntry = z
  .object({
    path: z.string().describe("Written by programs inside: make it visible before you show it."),
    type: z.enum(["file", "directory", "symlink", "other"]),
    size: z.number(),
    mode: z.number(),
    modifiedAt: moment,
  })
  .meta({ id: "FileEntry" });

export const context = z
  .object({
    id: z.string(),
    language: z.string(),
    state: z.enum(["idle", "busy", "ended"]),
    ending: z.string().optional(),
    createdAt: moment,
    executionCount: z.number(),
    checkpoints: z.array(z.object({ id: z.string(), createdAt: moment, snapshotId: z.string().optional() })),
  })
  .meta({ id: "Context" });

export const snapshot = z
  .object({
    id: z.string(),
    name: z.string().optional(),
    createdAt: moment,
    files: z.number(),
    bytes: z.number(),
  })
  .meta({ id: "Snapshot" });

export const approval = z
  .object({
    id: z.string(),
    ...ofSession,
    createdAt: moment,
    expiresAt: moment,
    request: z.record(z.string(), z.unknown()).describe("What is asked: tool, code, risk, findings, rule, …"),
    outcome: z
      .object({
        decision: z.enum(["approved", "edited", "rejected", "expired", "cancelled", "interrupted"]),
        by: z.string().optional(),
        at: moment,
      })
      .optional()
      .describe("Left out: pending."),
  })
  .meta({ id: "Approval" });

/** The sandboxes that are kept ready; whose the others are is not told. */
export const poolStatus = z
  .object({
    idle: z.number(),
    acquiring: z.number(),
    busy: z.number(),
    resetting: z.number(),
    leaving: z.number(),
    waiting: z.number(),
    minInstances: z.number(),
    maxInstances: z.number(),
    hits: z.number(),
    misses: z.number(),
    created: z.number(),
    destroyed: z.number(),
    resets: z.number(),
    failures: z.number(),
    timeouts: z.number(),
    lastFailure: z.object({ at: moment, code: errorCode }).optional(),
    lastTimeoutAt: moment.optional().describe("When a request last timed out waiting for a sandbox."),
    nextAttemptAt: moment.optional().describe("It cannot make sandboxes, and tries again then."),
  })
  .meta({ id: "Pool" });

/** A pool's status as replies have it. */
export function toPoolReply(status: PoolStatus | undefined): z.output<typeof poolStatus> | null {
  if (status === undefined) return null;
  const { instances: _, lastFailure, lastTimeoutAt, nextAttemptAt, ...counts } = status;
  return {
    ...counts,
    ...(lastFailure !== undefined && {
      lastFailure: { at: lastFailure.at.toISOString(), code: lastFailure.code },
    }),
    ...(lastTimeoutAt !== undefined && { lastTimeoutAt: lastTimeoutAt.toISOString() }),
    ...(nextAttemptAt !== undefined && { nextAttemptAt: nextAttemptAt.toISOString() }),
  };
}

/** A moment as replies have it. */
export function toMoment(ms: number): string {
  return new Date(ms).toISOString();
}
