import type { RiskAssessment } from "../../../guard/analysis/index.js";
import type { AuditLogger, AuditOutcome, AuditResult, PendingAttempt } from "../../../guard/audit/index.js";
import type { PolicyDecision } from "../../../guard/policy/index.js";
import type { ErrorCode, SandboxError } from "../../../kit/errors.js";
import type { ExecutionResult } from "../../../runtime/sandbox/index.js";
import type { Metrics } from "../../metrics/index.js";
import { ruleName, withJson } from "../result-json.js";
import { contextFactsOf } from "./call-parts.js";
import { auditResultOf, type CheckedCall, textOf } from "./checked-call.js";
import type { ToolResult, UnversionedResult } from "./tool-call.js";

/** What is known of a call so far. */
export interface CallFindings {
  readonly decision?: PolicyDecision | undefined;
  readonly risk?: RiskAssessment | undefined;
  readonly confirmation?: string | undefined;
  readonly decidedBy?: string | undefined;
  /** Where it runs, once it does. */
  readonly sandbox?: { readonly id: string; readonly backend: string; readonly hasNetwork: boolean };
  /** What came of the program, also when something after it failed. */
  readonly ended?: ExecutionResult;
}

/** Errors that say no rather than that something broke, and what the metrics call them. */
const REFUSALS: Partial<Record<ErrorCode, string>> = {
  POLICY_DENIED: "tool",
  POLICY_UNENFORCEABLE: "unenforceable",
  LIMIT_UNENFORCEABLE: "limit",
  BACKEND_TOO_WEAK: "backend",
  SANDBOX_DISABLED: "backend",
};

/** True for an error that says no. */
export function isRefusal(code: ErrorCode): boolean {
  return REFUSALS[code] !== undefined;
}

/** The record of one call: exactly one audit record and one set of metrics, whatever its outcome. */
export class CallRecord {
  readonly #startedAt = performance.now();
  readonly #asked: CheckedCall;
  #findings: CallFindings = {};
  /** For a person's decision; undefined: no person was asked. */
  #waitedMs: number | undefined;
  #ended = false;

  private constructor(
    private call: CheckedCall,
    private readonly pending: PendingAttempt | undefined,
    private readonly metrics: Metrics | undefined,
  ) {
    this.#asked = call;
  }

  /** Written down before anything can happen. Throws AUDIT_FAILED: what cannot be remembered does not run. */
  static begin(call: CheckedCall, audit: AuditLogger | undefined, metrics: Metrics | undefined): CallRecord {
    const { sessionId, agentId, orgId, role, tool, language } = call;
    const names = { sessionId, agentId, orgId, role, tool, language };
    try {
      const details = callDetails(call);
      const fields = { ...names, ...textFieldsOf(call), ...(details !== undefined && { details }) };
      return new CallRecord(call, audit?.begin(fields), metrics);
    } catch (error) {
      // Without a record it is counted at least.
      count(metrics, (each) => each.recordExecution({ tool, language, status: "error", durationMs: 0 }));
      throw error;
    }
  }

  /** What was found out so far; a person may have changed the code as well. */
  note(findings: CallFindings, call = this.call): void {
    this.#findings = { ...this.#findings, ...findings };
    this.call = call;
  }

  /** A person was asked, and it took so long. */
  waited(ms: number): void {
    this.#waitedMs = (this.#waitedMs ?? 0) + ms;
  }

  /** Ends it with a result; also one of a call that was not allowed to run. */
  async end(result: UnversionedResult): Promise<ToolResult> {
    const { decision, risk } = this.#findings;
    await this.#close(auditResultOf(result), result.error);
    return withJson({
      ...result,
      ...(decision !== undefined && { decision }),
      ...(risk !== undefined && { risk }),
      ...(this.pending !== undefined && { auditId: this.pending.id }),
    });
  }

  /** Ends it with a failure to run. The error is the caller's to hear, unless the log cannot take it. */
  async fail(error: SandboxError): Promise<void> {
    if (this.#ended) return;
    const refusal = REFUSALS[error.code];
    if (refusal !== undefined) this.violated(refusal);
    const result = error.code === "CANCELLED" ? "cancelled" : refusal === undefined ? "error" : "denied";
    await this.#close(result, `${error.code}: ${error.message}`);
  }

  /** Counts a rule that was broken. */
  violated(reason: string): void {
    this.#count((metrics) => metrics.recordViolation({ tool: this.call.tool, reason }));
  }

  async #close(result: AuditResult, error: string | undefined): Promise<void> {
    this.#ended = true;
    const { tool, language } = this.call;
    const durationMs = performance.now() - this.#startedAt;
    try {
      await this.pending?.end(this.#outcome(result, error));
    } finally {
      const status = result === "failure" ? "error" : result;
      this.#count((metrics) => metrics.recordExecution({ tool, language, status, durationMs }));
    }
  }

  #outcome(result: AuditResult, error: string | undefined): AuditOutcome {
    const { decision, risk, confirmation, decidedBy, sandbox, ended } = this.#findings;
    const details = {
      ...callDetails(this.call),
      ...contextFactsOf(this.call),
      ...(this.#waitedMs !== undefined && { waited_ms: Math.round(this.#waitedMs) }),
      ...(ended?.filesReadTruncated === true && { files_read_truncated: true }),
      ...(ended?.filesWrittenTruncated === true && { files_written_truncated: true }),
    };
    return {
      result,
      error: error ?? null,
      ...(decision?.role !== undefined && { role: decision.role }),
      // The code may have been edited since the call began.
      ...(hasSameText(this.call, this.#asked) ? {} : textFieldsOf(this.call)),
      riskLevel: risk?.level ?? null,
      findings: risk?.detectedPatterns ?? null,
      policyRule: decision === undefined ? null : ruleName(decision),
      confirmation: confirmation ?? null,
      decidedBy: decidedBy ?? (decision === undefined ? null : "policy"),
      ...(Object.keys(details).length > 0 && { details }),
      ...(sandbox !== undefined && {
        sandboxId: sandbox.id,
        backend: sandbox.backend,
        networkBytesSent: sandbox.hasNetwork ? null : (ended?.network?.bytesSent ?? 0),
        networkBytesRecv: sandbox.hasNetwork ? null : (ended?.network?.bytesReceived ?? 0),
      }),
      ...(ended !== undefined && {
        // A call without a session has the name of the sandbox that was thrown away after it.
        ...(this.call.sessionId === undefined && { sessionId: ended.sessionId }),
        executionTimeMs: ended.executionTimeMs,
        exitCode: ended.exitCode,
        memoryUsedMb: ended.memoryUsedMb,
        cpuTimeMs: ended.cpuTimeMs,
        filesRead: ended.filesRead ?? null,
        filesWritten: ended.filesWritten,
        filesDeleted: ended.filesDeleted,
      }),
    };
  }

  #count(action: (metrics: Metrics) => void): void {
    count(this.metrics, action);
  }
}

/** A failing metric must not fail a call that is recorded. */
function count(metrics: Metrics | undefined, action: (metrics: Metrics) => void): void {
  if (metrics === undefined) return;
  try {
    action(metrics);
  } catch (error) {
    process.emitWarning(`A metric could not be counted: ${String(error)}`);
  }
}

function callDetails(call: CheckedCall): Record<string, string | true> | undefined {
  const { kind, requestId } = call;
  const isLongRunning = kind.type === "terminal" || kind.type === "background";
  if (!isLongRunning && requestId === undefined) return undefined;
  return {
    ...(isLongRunning && { [kind.type]: true as const }),
    ...(requestId !== undefined && { request_id: requestId }),
  };
}

function hasSameText(call: CheckedCall, other: CheckedCall): boolean {
  return call.code === other.code && (call.code !== undefined || textOf(call) === textOf(other));
}

function textFieldsOf(call: CheckedCall) {
  return call.code === undefined ? { command: textOf(call) } : { code: call.code };
}
