import { Readable } from "node:stream";

/** What a promise comes to, unless the signal aborts before: then its reason. */
export function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) {
    promise.catch(() => undefined);
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    promise.finally(() => signal.removeEventListener("abort", leave)).then(resolve, reject);
  });
}

/** A stream for its reader, which fails with the signal's reason where that aborts. */
export function streamUntilAborted(source: Readable, signal?: AbortSignal): ReadableStream<Uint8Array> {
  const leave = () => source.destroy(signal?.reason);
  signal?.addEventListener("abort", leave, { once: true });
  source.once("close", () => signal?.removeEventListener("abort", leave));
  const stream = Readable.toWeb(source) as ReadableStream<Uint8Array>;
  if (signal?.aborted === true) leave();
  return stream;
}
