import { SandboxError } from "../../kit/errors.js";
import type { RiskAssessment } from "./assess.js";
import type { RiskLevel } from "./levels.js";

/** Permissive follows the advice; strict puts everything behind a boundary, also what no rule has found anything in. */
export const SECURITY_MODES = ["permissive", "strict"] as const;
export type SecurityMode = (typeof SECURITY_MODES)[number];

/** What stands between code and the host, weakest first. */
export const ISOLATION_ORDER = ["none", "process", "container", "kernel", "vm"] as const;
export type Isolation = (typeof ISOLATION_ORDER)[number];

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

/** Is `a` at least as strong as `b`? */
export function isAtLeast(a: Isolation, b: Isolation): boolean {
  return strengthOf(a) >= strengthOf(b);
}

function strengthOf(isolation: Isolation): number {
  const strength = ISOLATION_ORDER.indexOf(isolation);
  // A word that is not in the order must not pass for weaker or stronger than anything.
  if (strength === -1) throw unexpected("isolation", ISOLATION_ORDER, isolation);
  return strength;
}

function unexpected(what: string, known: readonly string[], value: unknown): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `Expected a ${what}, got ${JSON.stringify(value)}`, {
    hint: `Use one of: ${known.join(", ")}.`,
  });
}
