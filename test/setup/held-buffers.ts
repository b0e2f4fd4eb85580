import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** On a busy machine the collector takes long: what is watched must not be over before. */
const MOST_MS = 100;

/** Watches how many bytes of buffers this process holds beyond those of now. What could be collected does not count. */
export function watchHeldBuffers(): { /** Ends the watch. */ peak(): number } {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let [most, tookMs, samples] = [0, 0, 0];
  const measure = () => {
    const start = performance.now();
    collect();
    tookMs = performance.now() - start;
    return process.memoryUsage().arrayBuffers;
  };
  const before = measure();
  let timer: NodeJS.Timeout;
  // The collector stops the process, and must leave it time to work.
  const watchOn = () => {
    timer = setTimeout(
      () => {
        most = Math.max(most, measure());
        samples++;
        watchOn();
      },
      Math.min(10 * tookMs, MOST_MS),
    );
  };
  watchOn();
  return {
    peak: () => {
      clearTimeout(timer);
      if (samples === 0) throw new Error("It was over before anything was measured");
      return most - before;
    },
  };
}
