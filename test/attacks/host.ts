import { readdirSync, readFileSync } from "node:fs";

/** Processes of this host whose command line has this text. */
export function findProcesses(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        // A zombie has an empty one: it is dead.
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text);
      } catch {
        return false;
      }
    });
}

/** How many threads of this host have a file like this below their directory in /proc. */
export function countThreads(file: string, isLike: (text: string) => boolean): number {
  const numbers = (path: string) => tryTo(() => readdirSync(path), []).filter((name) => /^\d+$/.test(name));
  return numbers("/proc")
    .flatMap((pid) => numbers(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/${file}`))
    .filter((path) => isLike(tryTo(() => readFileSync(path, "latin1"), ""))).length;
}

/** Processes end while they are looked at. */
function tryTo<T>(action: () => T, otherwise: T): T {
  try {
    return action();
  } catch {
    return otherwise;
  }
}

/** Watches how well this process does: its memory, and how late its timers are. */
export function watchHost(): { stop(): { grewMb: number; maxLagMs: number } } {
  const before = process.memoryUsage.rss();
  let [peak, maxLagMs, last] = [before, 0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    maxLagMs = Math.max(maxLagMs, now - last - 20);
    last = now;
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  return {
    stop() {
      clearInterval(timer);
      const grewMb = Math.round((Math.max(peak, process.memoryUsage.rss()) - before) / 1024 / 1024);
      return { grewMb, maxLagMs: Math.round(Math.max(maxLagMs, performance.now() - last - 20)) };
    },
  };
}

/** A command line that nothing else on this host has. */
export function uniqueSleep(): string {
  return `1000.${Math.random().toString().slice(2, 14)}`;
}
