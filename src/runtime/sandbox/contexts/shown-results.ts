import type { RichResult } from "./context-result.js";

/** What a result's own envelope may add to it on the wire. */
const WIRE_FACTOR = 2;

/** What one run shows. The interpreter keeps to the budget; one that was taken over does not. */
export class ShownResults {
  readonly results: RichResult[] = [];
  isCut = false;
  #left: number;

  constructor(budget: number) {
    this.#left = WIRE_FACTOR * budget;
  }

  /** False: there is no more room. */
  take(result: RichResult, bytes: number): boolean {
    this.#left -= bytes;
    if (this.#left < 0) this.isCut = true;
    else this.results.push(result);
    return !this.isCut;
  }
}
