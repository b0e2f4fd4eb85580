import type { ToolResult } from "../../core/manager/index.js";
import type { PolicyDecision } from "../../guard/policy/index.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";

/** What is to be said after the output, a line each: hosts that were not reached, limits that did not hold, an end that was none of its own. */
export function closingLines(result: ToolResult): string[] {
  const { denied = [], failed = [] } = result.network ?? {};
  const lines = [...denied, ...failed].map((line) => escapeUnsafe(line));
  const missing = result.limitsNotEnforced ?? [];
  if (missing.length > 0) {
    lines.push(unenforcedLine(missing));
  }
  return result.reason === "exited" ? lines : [...lines, endLine(result)];
}

/** Which default limits do not hold: `memory, cpu and workspace`. */
function unenforcedLine(missing: readonly string[]): string {
  const limits = missing.join(", ").replace(/, (?=[^,]*$)/, " and ");
  return `the default limits of ${limits} are not enforced here: skerry doctor says why`;
}

/** Why it ended, in one line for a person. */
export function endLine(result: ToolResult): string {
  const { reason, decision, signal, error } = result;
  if (reason === "denied" && decision?.verdict === "deny") return refusalLine(decision);
  if (reason === "denied") return `denied: ${escapeUnsafe(error ?? "no reason was given")}`;
  if (reason === "rejected") return rejectionLine(result);
  if (error !== undefined) return escapeUnsafe(error);
  return reason === "signaled" ? `ended by ${signal}` : reason;
}

/** `denied by policy.yaml:31 (policies.tools.shell_exec.denied_commands[2]): curl is not allowed` */
function refusalLine({ rule, why }: Pick<PolicyDecision, "rule" | "why">): string {
  return `denied by ${ruleText(rule)}: ${escapeUnsafe(why)}`;
}

/** Who rejected it, why, and why a person was asked. */
function rejectionLine({ confirmation, decision, risk, error }: ToolResult): string {
  const who = confirmation?.by === undefined ? "rejected" : `rejected by ${escapeUnsafe(confirmation.by)}`;
  const asked =
    decision?.verdict === "confirm"
      ? `${ruleText(decision.rule)} asks for a person`
      : risk === undefined
        ? undefined
        : `risk ${risk.level}: ${escapeUnsafe(worstRules(risk))}`;
  return `${who}: ${escapeUnsafe(error ?? "no reason was given")}${asked === undefined ? "" : ` (${asked})`}`;
}

/** The rules that made the level what it is. */
function worstRules({ level, findings }: NonNullable<ToolResult["risk"]>): string {
  const worst = findings.filter((finding) => finding.level === level);
  return [...new Set(worst.map(({ rule, line }) => `${rule} on line ${line}`))].slice(0, 3).join(", ");
}

/** `policy.yaml:31 (policies.tools.shell_exec.denied_commands[2])` */
function ruleText({ source, line, path }: PolicyDecision["rule"]): string {
  return path === "built in" ? "a built-in rule" : escapeUnsafe(`${source}:${line} (${path})`);
}
