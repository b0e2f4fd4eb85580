import type { Finding, RiskLevel } from "../analysis/index.js";

/** The rule of a policy that asks for a person. */
export interface AskingRule {
  /** Where it stands in the policy: `tools.shell_exec.confirm`. */
  readonly path: string;
  readonly source: string;
  readonly line: number;
  readonly why: string;
}

/** What is to be decided: everything a person needs to see. */
export interface ConfirmationDetails {
  readonly sessionId: string;
  readonly agentId: string;
  readonly orgId: string;
  readonly role: string;
  readonly tool: string;
  readonly language?: string | undefined;
  /** The whole code or command. */
  readonly code: string;
  readonly riskLevel: RiskLevel;
  readonly findings: readonly Finding[];
  /** The names of all rules that matched, when `findings` leaves some out. */
  readonly findingRules?: readonly string[] | undefined;
  readonly rule?: AskingRule | undefined;
  /** What comes along with the code, by name: directory, variables, input, files. */
  readonly surroundings?: Readonly<Record<string, string>> | undefined;
  /** What the execution may use, by name. */
  readonly limits: Readonly<Record<string, unknown>>;
  readonly backend?: string | undefined;
}

/** The same as it is shown to a person. */
export interface ConfirmationRequest extends ConfirmationDetails {
  readonly id: string;
  readonly createdAt: Date;
  /** Without an answer by then it is rejected. */
  readonly expiresAt: Date;
}

/** The answer. Edited code is assessed again before it runs. */
export type ConfirmationAnswer =
  | { readonly decision: "approve"; readonly scope: "once" | "session"; readonly by?: string }
  | { readonly decision: "edit"; readonly code: string; readonly by?: string }
  | { readonly decision: "reject"; readonly reason?: string; readonly by?: string };

/** What a service is told besides the request. */
export interface ConfirmOptions {
  /** Aborts when no answer is wanted any more; a service then takes its question away. */
  readonly signal: AbortSignal;
  /**
   * While a person works on the answer (in an editor), the time to answer stands still until the function that it returns is
   * called. That restarts it, and returns the new end. Left out: there is no such time.
   */
  readonly stopClock?: (() => () => Date) | undefined;
}

/**
 * Asks a person, or decides by itself. A rejected promise and an answer of another shape both mean no; a promise
 * rejected with CANCELLED ends the whole call.
 */
export interface ConfirmationService {
  readonly name: string;
  confirm(request: ConfirmationRequest, options: ConfirmOptions): Promise<ConfirmationAnswer>;
}

/** Why it was not approved. */
export type RejectionCause = "rejected" | "timeout" | "no-service" | "cancelled" | "failed";

/** What came of a request. */
export type ConfirmationOutcome =
  | {
      readonly approved: true;
      /** What to run: the code as it was, or as it was edited. */
      readonly code: string;
      readonly scope: "once" | "session";
      readonly by: string | undefined;
      readonly edited: boolean;
      /** An earlier approval for the session covers it; no question was asked. */
      readonly remembered: boolean;
    }
  | {
      readonly approved: false;
      readonly reason: string;
      readonly cause: RejectionCause;
      readonly by?: string;
      /** What the service threw. For the log, not for the agent. */
      readonly error?: unknown;
    };

/** What is shown is what is approved, whatever happens to the caller's object in the meantime. */
export function copyDetails(details: ConfirmationDetails): ConfirmationDetails {
  return Object.freeze({
    ...details,
    findings: Object.freeze(details.findings.map((finding) => Object.freeze({ ...finding }))),
    ...(details.findingRules !== undefined && { findingRules: Object.freeze([...details.findingRules]) }),
    ...(details.rule !== undefined && { rule: Object.freeze({ ...details.rule }) }),
    ...(details.surroundings !== undefined && { surroundings: Object.freeze({ ...details.surroundings }) }),
    limits: Object.freeze({ ...details.limits }),
  });
}
