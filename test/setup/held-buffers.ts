import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How often the collector runs: it stops the process for some milliseconds. */
const SAMPLE_MS = 100;

/** Watches how many bytes of buffers this process holds beyond those of now. What could be collected does not count. */
export function watchHeldBuffers(): { /** Ends the watch. */ peak(): number } {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const held = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const before = held();
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, held());
  }, SAMPLE_MS);
  return {
    peak: () => {
      clearInterval(timer);
      return most - before;
    },
  };
}
