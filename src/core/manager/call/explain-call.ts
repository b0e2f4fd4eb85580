import type { RiskAssessment } from "../../../guard/analysis/index.js";
import type { PolicyDecision, PolicyRequest, PolicyVerdict } from "../../../guard/policy/index.js";
import { defined } from "../../../kit/defined.js";
import { type SandboxError, toSandboxError } from "../../../kit/errors.js";
import type { Isolation } from "../../../runtime/backends/index.js";
import { assessCall, type CallPlan } from "./assess-call.js";
import { limitsFor } from "./call-limits.js";
import { isRefusal } from "./call-record.js";
import { checkToolCall } from "./check-call.js";
import { type CheckedCall, closingStreams } from "./checked-call.js";
import type { Guards } from "./guards.js";
import type { SecurityMode } from "./required-sandbox.js";
import { requiredIsolation, routeCall } from "./route-call.js";
import type { ToolCall } from "./tool-call.js";

/** What `execute` would make of a call. */
export interface Explanation {
  /** `confirm`: a person is asked before it runs. */
  readonly verdict: PolicyVerdict;
  /** One line: which rule, or what else decides. */
  readonly why: string;
  /** What the policy says; left out where it was not asked. */
  readonly decision?: PolicyDecision;
  /** Left out: the code is not assessed, or the policy denied it before. */
  readonly risk?: RiskAssessment;
  readonly securityMode?: SecurityMode;
  /** What the code asks for; more where the call names a backend. */
  readonly requiredIsolation: Isolation;
  /** Where it would run. */
  readonly backend?: string;
  /** Why it could not start on this host, even if it were approved. */
  readonly obstacle?: SandboxError;
}

export interface ExplainOptions {
  /** More files that the call would touch, for the policy. */
  readonly paths?: PolicyRequest["paths"];
}

/** The same decisions as `execute`'s, in the same order. Nothing runs, no person is asked, nothing is recorded. */
export async function explainCall(
  given: ToolCall,
  guards: Guards,
  { paths }: ExplainOptions = {},
): Promise<Explanation> {
  const call = checkToolCall(given);
  using _inputs = closingStreams(call);
  const { verdict, plan, denial } = await assessCall(call, guards, { paths });
  const { decision, risk, securityMode } = plan;
  const said = {
    ...defined({ decision, risk, securityMode }),
    requiredIsolation: requiredIsolation(plan),
  };
  if (denial !== undefined) return { verdict, why: denial.why, ...said };
  const found = await findPlace(call, plan, guards);
  const why = await describeVerdict(verdict, plan);
  if (!("obstacle" in found)) return { verdict, why, ...said, ...found };
  const { obstacle } = found;
  if (!isRefusal(obstacle.code)) return { verdict, why, ...said, obstacle };
  return { verdict: "deny", why: `denied: ${obstacle.message}`, ...said, obstacle };
}

/** A backend that is strong enough and enforces every limit, or why there is none. */
async function findPlace(
  call: CheckedCall,
  plan: CallPlan,
  guards: Guards,
): Promise<{ readonly backend: string } | { readonly obstacle: SandboxError }> {
  try {
    guards.assertUsable();
    const chosen = await routeCall(call, plan, guards);
    limitsFor(plan, chosen, guards);
    return { backend: chosen.backend.name };
  } catch (error) {
    return { obstacle: toSandboxError(error) };
  }
}

async function describeVerdict(verdict: PolicyVerdict, { decision, risk }: CallPlan): Promise<string> {
  if (decision !== undefined && decision.verdict === verdict) {
    const { describeDecision } = await import("../../../guard/policy/index.js");
    return describeDecision(decision);
  }
  return verdict === "confirm"
    ? `needs a confirmation: the code's risk is ${risk?.level}`
    : "allowed: there is no policy";
}
