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
