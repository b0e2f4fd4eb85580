import { setImmediate } from "node:timers/promises";

const SLICE_MS = 8;

/** Work in slices: a tree of a million files must not stop a server. */
export class TimeSlice {
  #end = performance.now() + SLICE_MS;

  /** Lets the rest of the process run, when the slice is over. */
  async pass(): Promise<void> {
    if (performance.now() < this.#end) return;
    await setImmediate();
    this.#end = performance.now() + SLICE_MS;
  }
}
