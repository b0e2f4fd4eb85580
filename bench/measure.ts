import type { BenchContext } from "./bench-context.js";

export interface Summary {
  readonly p50: number;
  readonly p99: number;
  readonly n: number;
}

/** The value that this share of the samples does not exceed (nearest rank). */
export function percentile(samples: readonly number[], share: number): number {
  if (samples.length === 0) return Number.NaN;
  const sorted = [...samples].sort((a, b) => a - b);
  const rank = Math.ceil(share * sorted.length);
  return sorted[Math.min(Math.max(rank, 1), sorted.length) - 1]!;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** `p99` is the bad end: where more is better, the value that 99 of 100 samples reach. */
export function summarize(samples: readonly number[], better: "lower" | "higher"): Summary {
  const p99 = better === "lower" ? percentile(samples, 0.99) : -percentile(negated(samples), 0.99);
  return { p50: median(samples), p99, n: samples.length };
}

function negated(samples: readonly number[]): number[] {
  return samples.map((sample) => -sample);
}

/** Milliseconds the action takes. */
export async function timeMs(action: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return performance.now() - startedAt;
}

export interface Plan {
  readonly rounds: number;
  /** Rounds whose samples are dropped. */
  readonly warmUp: number;
}

/**
 * Takes samples of both sides in turn, so that whatever else the machine does falls on both. The order changes
 * every round (ours, baseline, baseline, ours, …): what one sample leaves to be done in the background is paid
 * by its own side as often as by the other.
 */
export async function interleave(
  bench: Pick<BenchContext, "signal" | "progress">,
  plan: Plan,
  ours: () => Promise<number>,
  baseline: () => Promise<number>,
): Promise<{ ours: number[]; baseline: number[] }> {
  const samples = { ours: [] as number[], baseline: [] as number[] };
  const sides = [
    { take: ours, into: samples.ours },
    { take: baseline, into: samples.baseline },
  ];
  for (let round = -plan.warmUp; round < plan.rounds; round++) {
    for (const { take, into } of round % 2 === 0 ? sides : sides.toReversed()) {
      bench.signal.throwIfAborted();
      const sample = await take();
      if (round >= 0) into.push(sample);
    }
    bench.progress(round + plan.warmUp + 1, plan.rounds + plan.warmUp);
  }
  return samples;
}
