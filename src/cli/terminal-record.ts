import type { AuditFields, AuditLogger, AuditResult } from "../audit/index.js";
import { toSandboxError } from "../errors.js";
import type { ExecutionResult } from "../sandbox/result.js";
import type { Caller } from "./open-guards.js";

/** What the policy and the audit log call a terminal. */
export const TERMINAL_TOOL = "shell_exec";

/** The one audit record of a terminal. What is typed into it is not known; the record stands for all of it. */
export interface TerminalRecord {
  /** What was decided about it. */
  note(fields: Pick<AuditFields, "policyRule" | "decidedBy" | "confirmation">): void;
  end(result: ExecutionResult): Promise<void>;
  /** Ends it for a terminal that could not be opened, or broke. */
  fail(error: unknown): Promise<void>;
}

/** Writes down that a terminal is wanted. Throws AUDIT_FAILED: then there is none. */
export function beginTerminal(
  audit: AuditLogger | undefined,
  who: Caller & { readonly sessionId: string | undefined },
  command: string,
): TerminalRecord {
  const attempt = audit?.begin({ ...who, tool: TERMINAL_TOOL, command, details: { terminal: true } });
  let noted: AuditFields = {};
  return {
    note(fields) {
      noted = { ...noted, ...fields };
    },
    async end(result) {
      await attempt?.end({
        ...noted,
        result: resultOf(result),
        sessionId: result.sessionId,
        sandboxId: result.sandboxId,
        backend: result.sandboxType,
        executionTimeMs: result.executionTimeMs,
        exitCode: result.exitCode,
        memoryUsedMb: result.memoryUsedMb,
        cpuTimeMs: result.cpuTimeMs,
        error: result.error ?? null,
      });
    },
    async fail(error) {
      const { code, message } = toSandboxError(error);
      await attempt?.end({ ...noted, result: REFUSALS[code] ?? "error", error: `${code}: ${message}` });
    },
  };
}

function resultOf({ success, reason }: ExecutionResult): AuditResult {
  if (success) return "success";
  return reason === "exited" || reason === "signaled" ? "failure" : reason;
}

/** Errors that say no rather than that something broke. */
const REFUSALS: Readonly<Record<string, AuditResult>> = {
  POLICY_DENIED: "denied",
  POLICY_UNENFORCEABLE: "denied",
  LIMIT_UNENFORCEABLE: "denied",
  BACKEND_TOO_WEAK: "denied",
  SANDBOX_DISABLED: "denied",
  CONFIRMATION_REJECTED: "rejected",
  CANCELLED: "cancelled",
};
