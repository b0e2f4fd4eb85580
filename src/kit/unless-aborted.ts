import { SandboxError } from "./errors.js";

/** The promise, for as long as this caller wants to wait for it. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const cancelled = () => new SandboxError("CANCELLED", "Waiting for the sandbox was cancelled");
  // Nobody waits for it any more, whatever becomes of it.
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
