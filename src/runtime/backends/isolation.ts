import { SandboxError } from "../../kit/errors.js";

/** What stands between code and the host, weakest first. */
export const ISOLATION_ORDER = ["none", "process", "container", "kernel", "vm"] as const;
export type Isolation = (typeof ISOLATION_ORDER)[number];

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
