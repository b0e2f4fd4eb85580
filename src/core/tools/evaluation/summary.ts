import type { SampleResult } from "./evaluate.js";
import type { SampleVerdict } from "./judge-sample.js";
import { passAtK } from "./pass-at-k.js";

const KS = [1, 10, 100];

export interface EvaluationSummary {
  readonly tasks: number;
  readonly samples: number;
  readonly passed: number;
  /** By k: 1, and 10 and 100 where every task has that many samples. */
  readonly passAt: Readonly<Record<string, number>>;
  /** How many ended how. */
  readonly verdicts: Readonly<Partial<Record<SampleVerdict, number>>>;
}

/** What an evaluation comes to. */
export function summarise(results: readonly SampleResult[]): EvaluationSummary {
  const counts = new Map<string, { total: number; passed: number }>();
  const verdicts: Partial<Record<SampleVerdict, number>> = {};
  for (const { taskId, passed, verdict } of results) {
    const count = counts.get(taskId) ?? { total: 0, passed: 0 };
    count.total++;
    if (passed) count.passed++;
    counts.set(taskId, count);
    verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  }
  const each = [...counts.values()];
  const passAt = KS.flatMap((k) => {
    const chance = passAtK(each, k);
    return chance === undefined ? [] : [[String(k), chance]];
  });
  return {
    tasks: counts.size,
    samples: results.length,
    passed: results.filter(({ passed }) => passed).length,
    passAt: Object.fromEntries(passAt) as Record<string, number>,
    verdicts,
  };
}
