import type { RiskAssessment } from "../../../guard/analysis/index.js";
import { worse } from "../../../guard/analysis/index.js";
import type { PolicyDecision } from "../../../guard/policy/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { CallAssessment } from "./assess-call.js";

/** What a person is told of every terminal. */
export const UNKNOWN_INPUT = "What will be typed into it cannot be checked in advance.";

/** Terminal input cannot be checked in advance, so a terminal is refused wherever a rule would have to hold for it. */
export function assessTerminal(assessed: CallAssessment): CallAssessment {
  const { decision, risk } = assessed.plan;
  const denial = decision === undefined ? undefined : denialOf(decision);
  if (denial !== undefined) return { ...assessed, verdict: "deny", denial };
  if (risk === undefined) return assessed;
  return { ...assessed, plan: { ...assessed.plan, risk: withUnknownInput(risk) } };
}

/** Rules that cannot be enforced for terminal input. */
function denialOf(decision: PolicyDecision): CallAssessment["denial"] {
  // A rule that has said no says it better.
  if (decision.verdict === "deny") return undefined;
  const { source } = decision.rule;
  if (decision.hasCommandRules) return unkeepable(source, "command");
  if (decision.deniedPaths.length > 0 || decision.allowedPaths !== undefined)
    return unkeepable(source, "path");
  if (decision.maxRisk === undefined) return undefined;
  const why = `it allows ${decision.maxRisk} risk at most, and what will be typed is unknown`;
  return { why: escapeUnsafe(`denied by ${source}: ${why}`), violation: "risk" };
}

function unkeepable(source: string, violation: "command" | "path"): CallAssessment["denial"] {
  const why = `it has rules about ${violation}s, which cannot be enforced in a terminal`;
  return { why: escapeUnsafe(`denied by ${source}: ${why}`), violation };
}

/** No less than what asks for walls in every security mode. */
function withUnknownInput(risk: RiskAssessment): RiskAssessment {
  const finding = { rule: "terminal", level: "medium", line: 1, column: 1, excerpt: "" } as const;
  return {
    ...risk,
    level: worse(risk.level, finding.level),
    findings: [{ ...finding, why: UNKNOWN_INPUT }, ...risk.findings],
    detectedPatterns: [...new Set([...risk.detectedPatterns, finding.rule])].sort(),
  };
}
