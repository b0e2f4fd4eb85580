/** Runs of each size: the least of them is the one that nothing else disturbed. */
const RUNS = 5;
const FACTOR = 4;

/**
 * How many times as much CPU time `work` takes for four times the size: about 4 where it is linear, about 16 where it is
 * quadratic, and without end where it explodes.
 */
export function growthOf(work: (size: number) => void, size: number): number {
  work(size); // Compiles it.
  return least(work, size * FACTOR) / Math.max(least(work, size), 200);
}

/** In microseconds. */
function least(work: (size: number) => void, size: number): number {
  const times = Array.from({ length: RUNS }, () => {
    const start = process.cpuUsage();
    work(size);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  });
  return Math.min(...times);
}

/** What is above linear, with room for the noise of a busy machine. */
export const LINEAR = FACTOR * 2.5;
