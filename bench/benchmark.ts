import type { BenchContext } from "./bench-context.js";

/** One figure we claim: how it is measured, what it is compared with, and what it must reach. */
export interface Benchmark {
  readonly name: string;
  readonly what: string;
  readonly baseline: string;
  readonly unit: "ms" | "MiB" | "MiB/s" | "programs/s";
  /** Which way is good, for the samples and for the ratio. */
  readonly better: "lower" | "higher";
  /** Ours divided by the baseline: at most this when lower is better, at least this when higher is. Null: only told. */
  readonly goal: number | null;
  /** Why this cannot be measured here; undefined: it can. */
  unavailable?(bench: BenchContext): Promise<string | undefined>;
  measure(bench: BenchContext): Promise<Samples>;
}

/** What was measured, both sides in the same run. */
export interface Samples {
  readonly ours: readonly number[];
  readonly baseline: readonly number[];
  /** What must hold besides the ratio. */
  readonly checks?: readonly Check[];
}

/** A condition on a number of its own. */
export interface Check {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly atMost?: number;
  readonly atLeast?: number;
}
