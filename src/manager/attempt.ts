import type { AuditLogger, AuditOutcome, PendingAttempt } from "../audit/index.js";
import type { SandboxError } from "../errors.js";
import type { Metrics } from "../metrics/index.js";
import type { Decision } from "../policy/index.js";
import type { RiskAssessment } from "../risk/index.js";
import { auditResultOf, type CheckedCall, type ToolResult, textOf } from "./tool-call.js";

/** What is known of an attempt before it ran, or instead of running. */
export interface Findings {
  readonly decision?: Decision | undefined;
  readonly risk?: RiskAssessment | undefined;
  readonly confirmation?: string | undefined;
  readonly decidedBy?: string | undefined;
}

/** One attempt, owed one audit record and one set of metrics whatever comes of it. */
export class Attempt {
  readonly #pending: PendingAttempt | undefined;
  readonly #metrics: Metrics | undefined;
  readonly #startedAt = performance.now();
  #call: CheckedCall;
  #findings: Findings = {};
  #ended = false;

  private constructor(call: CheckedCall, pending: PendingAttempt | undefined, metrics: Metrics | undefined) {
    this.#call = call;
    this.#pending = pending;
    this.#metrics = metrics;
  }

  /** Written down before anything can happen. Throws AUDIT_FAILED: what cannot be remembered does not run. */
  static begin(call: CheckedCall, audit: AuditLogger | undefined, metrics: Metrics | undefined): Attempt {
    const pending = audit?.begin({ ...namesOf(call), ...textFieldsOf(call) });
    return new Attempt(call, pending, metrics);
  }

  /** What was found out so far; a person may have changed the code as well. */
  note(findings: Findings, call = this.#call): void {
    this.#findings = { ...this.#findings, ...findings };
    this.#call = call;
  }

  /** Ends it with a result; also one of a call that was not allowed to run. */
  async end(result: ToolResult): Promise<ToolResult> {
    const { decision, risk } = this.#findings;
    const whole: ToolResult = {
      ...result,
      ...(decision !== undefined && { decision }),
      ...(risk !== undefined && { risk }),
      ...(this.#pending !== undefined && { auditId: this.#pending.id }),
    };
    const ran = result.sandboxId !== "";
    await this.#close({
      result: auditResultOf(result),
      sessionId: result.sessionId || null,
      ...(ran && {
        sandboxId: result.sandboxId,
        backend: result.sandboxType,
        executionTimeMs: result.executionTimeMs,
        exitCode: result.exitCode,
        memoryUsedMb: result.memoryUsedMb,
        cpuTimeMs: result.cpuTimeMs,
        networkBytesSent: 0,
        networkBytesRecv: 0,
        filesRead: result.filesRead ?? null,
        filesWritten: result.filesWritten,
        filesDeleted: result.filesDeleted,
      }),
      error: result.error ?? null,
    });
    return whole;
  }

  /** Ends it with a failure to run. The error is the caller's to hear, unless the log cannot take it. */
  async fail(error: SandboxError): Promise<void> {
    if (this.#ended) return;
    const result = error.code === "CANCELLED" ? "cancelled" : REFUSALS.has(error.code) ? "denied" : "error";
    await this.#close({ result, error: `${error.code}: ${error.message}` });
  }

  /** Counts a rule that was broken, for the metrics. */
  violated(reason: string): void {
    this.#metrics?.recordViolation({ tool: this.#call.tool, reason });
  }

  async #close(outcome: AuditOutcome): Promise<void> {
    this.#ended = true;
    const { tool, language } = this.#call;
    const durationMs = outcome.executionTimeMs ?? performance.now() - this.#startedAt;
    const status = outcome.result === "failure" ? "error" : outcome.result;
    this.#metrics?.recordExecution({ tool, language, status, durationMs });
    const { decision, risk, confirmation, decidedBy } = this.#findings;
    await this.#pending?.end({
      // The code may have been edited since the attempt began.
      ...textFieldsOf(this.#call),
      riskLevel: risk?.level ?? null,
      findings: risk?.detectedPatterns ?? null,
      policyRule: decision === undefined ? null : `${decision.rule.path} (line ${decision.rule.line})`,
      confirmation: confirmation ?? null,
      decidedBy: decidedBy ?? (decision === undefined ? null : "policy"),
      ...outcome,
    });
  }
}

/** Errors that say no rather than that something broke. */
const REFUSALS: ReadonlySet<string> = new Set([
  "POLICY_DENIED",
  "POLICY_UNENFORCEABLE",
  "LIMIT_UNENFORCEABLE",
  "BACKEND_TOO_WEAK",
  "SANDBOX_DISABLED",
]);

function namesOf({ sessionId, agentId, orgId, role, tool, language }: CheckedCall) {
  return { sessionId, agentId, orgId, role, tool, language };
}

function textFieldsOf(call: CheckedCall) {
  return call.code === undefined ? { command: textOf(call) } : { code: call.code };
}
