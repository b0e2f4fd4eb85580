import type { SampleResult } from "./evaluate.js";
import type { Verdict } from "./judge-sample.js";
import { passAtK } from "./pass-at-k.js";

const KS = [1, 10, 100];

export interface EvaluationSummary {
  readonly tasks: number;
  readonly samples: number;
  readonly passed: number;
  /** By k: 1, and 10 and 100 where every task has that many samples. */
  readonly passAt: Readonly<Record<string, number>>;
  /** How many ended how. */
  readonly verdicts: Readonly<Partial<Record<Verdict, number>>>;
}

/** What an evaluation comes to. */
export function summarise(results: readonly SampleResult[]): EvaluationSummary {
  const tallies = new Map<string, { total: number; passed: number }>();
  const verdicts: Partial<Record<Verdict, number>> = {};
  for (const { taskId, passed, verdict } of results) {
    const tally = tallies.get(taskId) ?? { total: 0, passed: 0 };
    tally.total++;
    if (passed) tally.passed++;
    tallies.set(taskId, tally);
    verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  }
  const each = [...tallies.values()];
  const passAt = KS.flatMap((k) => {
    const chance = passAtK(each, k);
    return chance === undefined ? [] : [[String(k), chance]];
  });
  return {
    tasks: tallies.size,
    samples: results.length,
    passed: results.filter(({ passed }) => passed).length,
    passAt: Object.fromEntries(passAt) as Record<string, number>,
    verdicts,
  };
}
