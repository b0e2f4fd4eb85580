import type { RiskAssessment, RiskLevel } from "../../../guard/analysis/index.js";
import { SandboxError } from "../../../kit/errors.js";
import type { Isolation } from "../../../runtime/backends/index.js";

/** Permissive follows the advice; strict puts everything behind a boundary, also what no rule has found anything in. */
export const SECURITY_MODES = ["permissive", "strict"] as const;
export type SecurityMode = (typeof SECURITY_MODES)[number];

const REQUIRED: ReadonlyMap<SecurityMode, ReadonlyMap<RiskLevel, Isolation>> = new Map([
  [
    "permissive",
    new Map<RiskLevel, Isolation>([
      ["safe", "none"],
      ["low", "none"],
      ["medium", "process"],
      ["high", "process"],
      ["critical", "process"],
    ]),
  ],
  [
    "strict",
    new Map<RiskLevel, Isolation>([
      // A rule that did not match proves nothing: strict trusts walls, not the reader.
      ["safe", "process"],
      ["low", "process"],
      ["medium", "process"],
      ["high", "process"],
      ["critical", "process"],
    ]),
  ],
]);

/** The weakest isolation that the mode accepts for this risk; a policy or a caller may ask for more, never for less. */
export function getRequiredSandbox(risk: RiskAssessment | RiskLevel, mode: SecurityMode): Isolation {
  const level = typeof risk === "string" ? risk : risk.level;
  const levels = REQUIRED.get(mode);
  if (levels === undefined) throw unexpected("security mode", SECURITY_MODES, mode);
  const isolation = levels.get(level);
  if (isolation === undefined) throw unexpected("risk level", [...levels.keys()], level);
  return isolation;
}

function unexpected(what: string, known: readonly string[], value: unknown): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `Expected a ${what}, got ${JSON.stringify(value)}`, {
    hint: `Use one of: ${known.join(", ")}.`,
  });
}
