import { SandboxError } from "../errors.js";

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

export function tookTooLong(what: string, ms: number): SandboxError {
  return new SandboxError("SANDBOX_START_FAILED", `${what} took longer than ${ms / 1000} s`);
}
