import type { RiskAssessment } from "../../../guard/analysis/index.js";
import { RISK_LEVELS, type RiskLevel } from "../../../guard/analysis/index.js";
import type {
  Policy,
  PolicyDecision,
  PolicyLimits,
  PolicyRequest,
  PolicyVerdict,
  ViolationReason,
} from "../../../guard/policy/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { CallPart } from "./call-kind.js";
import { partsOf } from "./call-parts.js";
import type { CallRecord } from "./call-record.js";
import { type CheckedCall, streamsOf } from "./checked-call.js";
import type { Guards } from "./guards.js";
import type { SecurityMode } from "./required-sandbox.js";

/** What the call may use, and behind which walls. */
export interface CallPlan {
  readonly decision: PolicyDecision | undefined;
  readonly risk: RiskAssessment | undefined;
  readonly securityMode: SecurityMode | undefined;
  readonly limits: PolicyLimits;
}

/** What policy and risk say together; a person has not been asked yet. */
export interface CallAssessment {
  readonly verdict: PolicyVerdict;
  readonly plan: CallPlan;
  /** Of a denial: one line for a person, and what the metrics call it. */
  readonly denial?: { readonly why: string; readonly violation: ViolationReason | "risk" };
}

export interface AssessOptions {
  /** Gets the policy's decision as soon as there is one. Left out: nothing is recorded. */
  readonly record?: CallRecord;
  /** Ends the wait for an input that does not come. */
  readonly signal?: AbortSignal | undefined;
  /** Files besides the call's own. */
  readonly paths?: PolicyRequest["paths"];
}

/** Policy, then risk. Running a call and explaining it get the same answer. */
export async function assessCall(
  call: CheckedCall,
  { policy, securityMode: own }: Pick<Guards, "policy" | "securityMode">,
  { record, signal = call.signal, paths = [] }: AssessOptions = {},
): Promise<CallAssessment> {
  const nameless = policy === undefined ? undefined : missingRole(policy.policy, call.role);
  if (nameless !== undefined) return deny(undefined, undefined, own, nameless, "role");
  let parts = partsOf(call);
  const decide = () => policy?.decide(requestOf(call, parts, paths));
  let decision = await decide();
  const unread = streamsOf(call).filter(({ head }) => head === undefined);
  if (unread.length > 0 && decision?.verdict !== "deny") {
    // A file that is denied by name is not opened; the others are decided about with their content.
    record?.note({ decision }, call);
    for (const input of unread) await input.look(signal);
    parts = partsOf(call);
    decision = await decide();
  }
  record?.note({ decision }, call);
  const securityMode = stricterMode(own, decision?.securityMode);
  if (decision?.verdict === "deny") {
    const { describeDecision } = await import("../../../guard/policy/index.js");
    return deny(decision, undefined, securityMode, describeDecision(decision), decision.reason);
  }
  const risk = securityMode === undefined ? undefined : await assessParts(parts);
  if (risk !== undefined && decision?.maxRisk !== undefined && isAbove(risk.level, decision.maxRisk)) {
    const why = `The code's risk is ${risk.level}; the policy allows ${decision.maxRisk} at most`;
    return deny(decision, risk, securityMode, why, "risk");
  }
  const asks =
    (call.kind.type === "files" && call.kind.task.asksPerson === true) ||
    decision?.verdict === "confirm" ||
    (risk !== undefined && isAbove(risk.level, "medium"));
  return { verdict: asks ? "confirm" : "allow", plan: planOf(decision, risk, securityMode) };
}

/** Why a call must name a role; undefined: it does, or need not. */
export function missingRole({ roles, defaultRole }: Policy, role: string | undefined): string | undefined {
  // Leaving the role out must not be a way around the rules of every role.
  if (role !== undefined || defaultRole !== undefined || roles.size === 0) return undefined;
  const names = [...roles.keys()].slice(0, 20).join(", ");
  return escapeUnsafe(
    `denied: the policy has roles, and the call names none (${names}); give it a role, or set sandbox.policy.role or the policy's default_role`,
  );
}

function deny(
  decision: PolicyDecision | undefined,
  risk: RiskAssessment | undefined,
  securityMode: SecurityMode | undefined,
  why: string,
  violation: ViolationReason | "risk",
): CallAssessment {
  return { verdict: "deny", plan: planOf(decision, risk, securityMode), denial: { why, violation } };
}

function planOf(
  decision: PolicyDecision | undefined,
  risk: RiskAssessment | undefined,
  securityMode: SecurityMode | undefined,
): CallPlan {
  return { decision, risk, securityMode, limits: decision?.limits ?? {} };
}

/** Of a call that brings no code along. */
const NO_CODE: RiskAssessment = {
  level: "safe",
  findings: [],
  language: "text",
  parsed: true,
  detectedPatterns: [],
};

let loadedRisk: typeof import("../../../guard/analysis/index.js") | undefined;

/** The worst of all parts. The parsers are loaded when there is something to parse. */
async function assessParts(parts: readonly CallPart[]): Promise<RiskAssessment> {
  if (parts.length === 0) return NO_CODE;
  // Importing what is loaded already still takes a tenth of what the assessment does.
  loadedRisk ??= await import("../../../guard/analysis/index.js");
  const { assess } = loadedRisk;
  const [main, ...others] = await Promise.all(
    parts.map(async (part) => ({ name: part.name, risk: await assess(part.text, part.language) })),
  );
  const risks = [main!.risk, ...others.map(({ risk }) => risk)];
  const named = others.flatMap(({ name, risk }) =>
    risk.findings.map((each) => ({ ...each, excerpt: `${escapeUnsafe(name)}: ${each.excerpt}` })),
  );
  return {
    ...main!.risk,
    level: risks.map(({ level }) => level).reduce((worst, each) => (isAbove(each, worst) ? each : worst)),
    findings: [...main!.risk.findings, ...named],
    parsed: risks.every(({ parsed }) => parsed),
    detectedPatterns: [...new Set(risks.flatMap(({ detectedPatterns }) => detectedPatterns))].sort(),
  };
}

/** What a policy is asked about a call. */
function requestOf(
  call: CheckedCall,
  parts: readonly CallPart[],
  more: NonNullable<PolicyRequest["paths"]>,
): PolicyRequest {
  const [main, ...others] = parts;
  const task = call.kind.type === "files" ? call.kind.task : undefined;
  const paths = [
    ...more,
    ...(task?.paths ?? []),
    ...Object.keys(call.files ?? {}).map((path) => ({ path, access: "write" as const })),
    ...(call.outputFiles ?? []).map((path) => ({ path, access: "read" as const })),
  ];
  return {
    tool: call.tool,
    role: call.role,
    language: call.language,
    ...(task === undefined && (call.code === undefined ? { command: main!.text } : { code: main!.text })),
    scripts: (task === undefined ? others : parts).map(({ text, language }) => ({ code: text, language })),
    paths,
  };
}

function isAbove(level: RiskLevel, other: RiskLevel): boolean {
  return RISK_LEVELS.indexOf(level) > RISK_LEVELS.indexOf(other);
}

function stricterMode(
  one: SecurityMode | undefined,
  other: SecurityMode | undefined,
): SecurityMode | undefined {
  if (one === "strict" || other === "strict") return "strict";
  return one ?? other;
}
