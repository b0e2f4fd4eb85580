/** Of how many samples a task has, how many passed. */
export interface TaskCounts {
  readonly total: number;
  readonly passed: number;
}

/** The chance that one of k samples of a task passes, without bias, over all tasks; undefined: one has too few samples. */
export function passAtK(counts: readonly TaskCounts[], k: number): number | undefined {
  if (counts.length === 0 || counts.some(({ total }) => total < k)) return undefined;
  const chances = counts.map(({ total, passed }) => 1 - allFail(total, passed, k));
  return chances.reduce((sum, each) => sum + each, 0) / chances.length;
}

/** (n − c over k) / (n over k), as a product: binomials of large numbers are too large. */
function allFail(total: number, passed: number, k: number): number {
  if (total - passed < k) return 0;
  let chance = 1;
  for (let each = total - passed + 1; each <= total; each++) chance *= 1 - k / each;
  return chance;
}
