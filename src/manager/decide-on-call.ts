import type { ConfirmationOutcome } from "../confirmation/index.js";
import type { Decision, PolicyLimits, PolicyRequest } from "../policy/index.js";
import type { RiskAssessment, SecurityMode } from "../risk/index.js";
import { RISK_LEVELS, type RiskLevel } from "../risk/levels.js";
import { visible } from "../visible.js";
import type { Attempt } from "./attempt.js";
import { type CallPart, describeSurroundings, partsOf } from "./call-parts.js";
import type { Guards } from "./guards.js";
import { type CheckedCall, languageOf, notRun, type ToolResult, textOf } from "./tool-call.js";

/** What the call may use, and behind which walls. */
export interface Plan {
  readonly decision: Decision | undefined;
  readonly risk: RiskAssessment | undefined;
  readonly securityMode: SecurityMode | undefined;
  readonly limits: PolicyLimits;
}

export type Decided =
  | {
      readonly goes: true;
      /** With the code that somebody agreed to. */
      readonly call: CheckedCall;
      readonly plan: Plan;
      readonly confirmation: ToolResult["confirmation"];
    }
  | { readonly goes: false; readonly result: ToolResult };

/** Code that a person keeps editing into something that must be asked about again ends here. */
const MAX_EDITS = 5;

/** Policy, risk, confirmation, in this order. Edited code starts from the top. */
export async function decideOnCall(
  given: CheckedCall,
  guards: Guards,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Decided> {
  const roles = guards.policy?.policy.roles;
  if (given.role === undefined && roles !== undefined && roles.size > 0) {
    // Leaving the role out must not be a way around the rules of every role.
    attempt.violated("role");
    const names = [...roles.keys()].slice(0, 20).join(", ");
    return refuse(
      notRun(given, "denied", visible(`denied: the policy has roles, and the call names none (${names})`)),
    );
  }
  let call = given;
  let agreed: (ConfirmationOutcome & { approved: true }) | undefined;
  for (let edits = 0; ; edits++) {
    const parts = partsOf(call);
    const decision = await guards.policy?.decide(requestOf(call, parts));
    attempt.note({ decision }, call);
    if (decision?.verdict === "deny") {
      attempt.violated(decision.reason);
      const { describeDecision } = await import("../policy/explain.js");
      return refuse(notRun(call, "denied", describeDecision(decision)));
    }

    const securityMode = stricterMode(guards.securityMode, decision?.securityMode);
    const risk = securityMode === undefined ? undefined : await assessParts(parts);
    attempt.note({ risk });
    if (risk !== undefined && decision?.maxRisk !== undefined && isAbove(risk.level, decision.maxRisk)) {
      attempt.violated("risk");
      return refuse(
        notRun(
          call,
          "denied",
          `The code's risk is ${risk.level}; the policy allows ${decision.maxRisk} at most`,
        ),
      );
    }

    const plan: Plan = { decision, risk, securityMode, limits: decision?.limits ?? {} };
    const asks = decision?.verdict === "confirm" || (risk !== undefined && isAbove(risk.level, "medium"));
    if (!asks) return { goes: true, call, plan, confirmation: confirmationOf(agreed) };

    const outcome = await ask(call, plan, guards, eitherSignal(call.signal, signal));
    if (!outcome.approved) {
      attempt.note({ confirmation: outcome.cause, decidedBy: outcome.by ?? "nobody" });
      if (outcome.cause !== "cancelled") attempt.violated("confirmation");
      return refuse({
        ...notRun(call, outcome.cause === "cancelled" ? "cancelled" : "rejected", outcome.reason),
        confirmation: { approved: false, edited: false, ...(outcome.by !== undefined && { by: outcome.by }) },
      });
    }
    agreed = { ...outcome, edited: outcome.edited || agreed?.edited === true };
    attempt.note({
      confirmation: agreed.edited ? "edited" : "approved",
      decidedBy: outcome.by ?? "somebody",
    });
    if (!outcome.edited) return { goes: true, call, plan, confirmation: confirmationOf(agreed) };
    if (edits === MAX_EDITS - 1) {
      const confirmation = { approved: false, edited: true };
      attempt.note({ confirmation: "rejected" });
      attempt.violated("confirmation");
      return refuse({ ...notRun(call, "rejected", `It was edited ${MAX_EDITS} times`), confirmation });
    }
    call = withText(call, outcome.code);
  }
}

/** The worst of all parts. The parsers are loaded when there is something to parse. */
async function assessParts(parts: readonly CallPart[]): Promise<RiskAssessment> {
  const { assess } = await import("../risk/index.js");
  const [main, ...others] = await Promise.all(
    parts.map(async (part) => ({ name: part.name, risk: await assess(part.text, part.language) })),
  );
  const risks = [main!.risk, ...others.map(({ risk }) => risk)];
  const named = others.flatMap(({ name, risk }) =>
    risk.findings.map((each) => ({ ...each, excerpt: `${visible(name)}: ${each.excerpt}` })),
  );
  return {
    ...main!.risk,
    level: risks.map(({ level }) => level).reduce((worst, each) => (isAbove(each, worst) ? each : worst)),
    findings: [...main!.risk.findings, ...named],
    parsed: risks.every(({ parsed }) => parsed),
    detectedPatterns: [...new Set(risks.flatMap(({ detectedPatterns }) => detectedPatterns))].sort(),
  };
}

function refuse(result: ToolResult): Decided {
  return { goes: false, result };
}

function confirmationOf(
  agreed: (ConfirmationOutcome & { approved: true }) | undefined,
): ToolResult["confirmation"] {
  if (agreed === undefined) return undefined;
  return { approved: true, edited: agreed.edited, ...(agreed.by !== undefined && { by: agreed.by }) };
}

function requestOf(call: CheckedCall, [main, ...scripts]: readonly CallPart[]): PolicyRequest {
  const paths = [
    ...Object.keys(call.files ?? {}).map((path) => ({ path, access: "write" as const })),
    ...(call.outputFiles ?? []).map((path) => ({ path, access: "read" as const })),
  ];
  const isCommand = call.code === undefined;
  return {
    tool: call.tool,
    role: call.role,
    language: call.language,
    ...(isCommand ? { command: main!.text } : { code: main!.text }),
    scripts: scripts.map(({ text, language }) => ({ code: text, language })),
    paths,
  };
}

/** What a person edited; a command without a shell comes back as a shell's. */
function withText(call: CheckedCall, text: string): CheckedCall {
  if (call.code !== undefined) return { ...call, code: text };
  return { ...call, argv: undefined, command: text };
}

function ask(call: CheckedCall, plan: Plan, { confirmations }: Guards, signal: AbortSignal) {
  const { decision, risk } = plan;
  return confirmations.request(
    {
      sessionId: call.sessionId ?? "",
      agentId: call.agentId ?? "",
      orgId: call.orgId ?? "",
      role: call.role ?? "",
      tool: call.tool,
      language: languageOf(call),
      code: textOf(call),
      riskLevel: risk?.level ?? "medium",
      findings: risk?.findings ?? [],
      findingRules: risk?.detectedPatterns ?? [],
      ...(decision !== undefined && {
        rule: {
          path: decision.rule.path,
          source: decision.rule.source,
          line: decision.rule.line,
          why: decision.why,
        },
      }),
      limits: { ...plan.limits },
      surroundings: describeSurroundings(call),
      backend: call.backend,
    },
    { signal },
  );
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

/** Aborts with the first of two; older Nodes watch the caller's own only. */
function eitherSignal(own: AbortSignal | undefined, sink: AbortSignal): AbortSignal {
  if (own === undefined) return sink;
  return typeof AbortSignal.any === "function" ? AbortSignal.any([own, sink]) : own;
}
