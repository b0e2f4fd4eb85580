import { SandboxError } from "./errors.js";

/** The promise, or CANCELLED once the signal aborts. The work behind the promise goes on. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  // After an abort its failure has no listener.
  promise.catch(() => undefined);
  throwIfCancelled(signal);
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

/** Throws CANCELLED where the signal has aborted. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw cancelled();
}

function cancelled(): SandboxError {
  return new SandboxError("CANCELLED", "Waiting for the sandbox was cancelled");
}
