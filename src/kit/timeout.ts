export interface TimeoutOptions {
  /** False: a process with nothing else to do may end before the time is up. */
  readonly keepsProcessAlive?: boolean;
}

/** The promise, or the error `late` makes after so many milliseconds. The work behind the promise goes on. */
export async function withTimeout<T>(
  promise: Promise<T>,
  ms: number,
  late: () => Error,
  { keepsProcessAlive = true }: TimeoutOptions = {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
    if (!keepsProcessAlive) timer.unref();
  });
  // After the time is up its failure has no listener.
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}
