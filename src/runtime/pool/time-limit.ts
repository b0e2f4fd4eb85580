import { tookTooLong } from "./pool-errors.js";

/** What `act` makes; a failure when it takes longer. `act` never runs before the caller's own turn is over. */
export function withinTime<T>(what: string, ms: number, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tookTooLong(what, ms)), ms).unref();
    Promise.resolve()
      .then(act)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
