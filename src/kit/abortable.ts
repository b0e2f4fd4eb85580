import { SandboxError } from "./errors.js";

/** The promise, or CANCELLED once the signal aborts. The work behind the promise goes on. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const cancelled = () => new SandboxError("CANCELLED", "Waiting for the sandbox was cancelled");
  // After an abort its failure has no listener.
  promise.catch(() => undefined);
  if (signal.aborted) throw cancelled();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(cancelled());
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}
