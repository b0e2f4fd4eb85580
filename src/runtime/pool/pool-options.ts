import { closestWord } from "../../kit/closest-word.js";
import { SandboxError } from "../../kit/errors.js";
import type { Limits } from "../backends/index.js";

export interface PoolOptions {
  /** Left out: the manager's. */
  readonly backend?: string;
  /** So many are kept ready in the background. Default: 2. */
  readonly minInstances?: number;
  /** Never exceeded: also those that are being started, reset or destroyed count. Default: 10. */
  readonly maxInstances?: number;
  /** Languages whose interpreters are started ahead. */
  readonly preload?: readonly string[];
  /** Of the prepared sandboxes. */
  readonly limits?: Limits;
  /** How often one may be reset and handed to another caller. Default: 100. */
  readonly maxUses?: number;
  /** An idle one is replaced when it is so old, a busy one is not reset any more. Default: one hour. */
  readonly maxAgeMs?: number;
  /** How long a request waits for one. Default: 30 s. */
  readonly acquireTimeoutMs?: number;
}

/** What the pool itself goes by. */
export interface PoolSettings {
  readonly minInstances: number;
  readonly maxInstances: number;
  readonly maxUses: number;
  readonly maxAgeMs: number;
  readonly acquireTimeoutMs: number;
  /** What is idle beyond the minimum is destroyed after this time. */
  readonly surplusMs: number;
  /** After these, a step that hangs counts as failed. */
  readonly createTimeoutMs: number;
  readonly healthTimeoutMs: number;
  readonly resetTimeoutMs: number;
  readonly destroyTimeoutMs: number;
  /** How long `stop` waits for what is in use. */
  readonly drainTimeoutMs: number;
}

export const DEFAULT_SETTINGS: PoolSettings = {
  minInstances: 2,
  maxInstances: 10,
  maxUses: 100,
  maxAgeMs: 3_600_000,
  acquireTimeoutMs: 30_000,
  surplusMs: 30_000,
  createTimeoutMs: 120_000,
  healthTimeoutMs: 5000,
  resetTimeoutMs: 30_000,
  destroyTimeoutMs: 15_000,
  drainTimeoutMs: 10_000,
};

/** What the pool goes by, and what its manager makes sandboxes from. */
const KNOWN_OPTIONS = [...Object.keys(DEFAULT_SETTINGS), "backend", "preload", "limits"];

/** The longest that a timer can wait. */
const MAX_MS = 2 ** 31 - 1;

/** Refuses a misspelt option: it would be ignored. */
export function checkOptionNames(given: PoolOptions): void {
  for (const key of Object.keys(given)) {
    if (KNOWN_OPTIONS.includes(key)) continue;
    const similar = closestWord(key, KNOWN_OPTIONS);
    throw new SandboxError("INVALID_ARGUMENT", `A pool has no option ${JSON.stringify(key)}`, {
      hint: similar === undefined ? `Known: ${KNOWN_OPTIONS.join(", ")}.` : `Did you mean ${similar}?`,
    });
  }
}

/** Refuses what means nothing. */
export function resolveSettings(given: Partial<PoolSettings> = {}): PoolSettings {
  const settings: { -readonly [Key in keyof PoolSettings]: number } = { ...DEFAULT_SETTINGS };
  for (const key of Object.keys(DEFAULT_SETTINGS) as (keyof PoolSettings)[]) {
    const value = given[key];
    if (value === undefined) continue;
    if (key.endsWith("Ms")) checkMs(key, value, key === "maxAgeMs" ? 1 : 0);
    else checkCount(key, value, key === "maxInstances" ? 1 : 0);
    settings[key] = value;
  }
  const { minInstances, maxInstances } = settings;
  if (minInstances <= maxInstances) return settings;
  // Only the maximum was asked for: it is also enough.
  if (given.minInstances === undefined) return { ...settings, minInstances: maxInstances };
  throw new SandboxError(
    "INVALID_ARGUMENT",
    `minInstances (${minInstances}) must not be more than maxInstances (${maxInstances})`,
  );
}

/** Refuses a time that no timer can wait. */
export function checkMs(name: string, value: unknown, least = 0): void {
  if (typeof value === "number" && value >= least && value <= MAX_MS) return;
  throw invalid(name, `milliseconds from ${least} to ${MAX_MS}`, value);
}

function checkCount(name: string, value: unknown, least: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return;
  throw invalid(name, `a whole number of at least ${least}`, value);
}

function invalid(name: string, expected: string, value: unknown): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `${name} must be ${expected}, not ${String(value)}`);
}
