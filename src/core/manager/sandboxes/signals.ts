const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const cleanups = new Set<() => Promise<void>>();

/** Cleans up on the signals that end a process, then lets them end it. Returns how to forget it. */
export function cleanUpOnSignals(cleanUp: () => Promise<void>): () => void {
  if (cleanups.size === 0) for (const signal of SIGNALS) process.on(signal, onSignal);
  cleanups.add(cleanUp);
  return () => {
    cleanups.delete(cleanUp);
    if (cleanups.size === 0) for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

async function onSignal(signal: NodeJS.Signals): Promise<void> {
  const isOnlyListener = process.listenerCount(signal) === 1;
  await Promise.allSettled([...cleanups].map((cleanUp) => cleanUp()));
  // A program with a handler of its own decides itself when to end.
  if (!isOnlyListener) return;
  for (const each of SIGNALS) process.off(each, onSignal);
  process.kill(process.pid, signal);
}
