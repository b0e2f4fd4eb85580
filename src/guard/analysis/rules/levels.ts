/** How much harm code could do, from nothing to lasting damage. */
export const RISK_LEVELS = ["safe", "low", "medium", "high", "critical"] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

const RANKS: Readonly<Record<RiskLevel, number>> = { safe: 0, low: 1, medium: 2, high: 3, critical: 4 };

/** The level's place in the order; 0 is safe. */
export function rankOf(level: RiskLevel): number {
  return RANKS[level];
}

/** The worse of two levels. */
export function worse(a: RiskLevel, b: RiskLevel): RiskLevel {
  return RANKS[a] >= RANKS[b] ? a : b;
}
