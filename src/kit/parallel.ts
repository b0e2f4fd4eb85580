const CONCURRENCY = 8;

/** Runs the action for each item, eight at a time. After a failure no further one starts, and the first failure is thrown once all have ended. */
export async function forEachParallel<T>(
  items: readonly T[],
  action: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const work = async () => {
    while (next < items.length && failures.length === 0) {
      const item = items[next++]!;
      await action(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  if (failures.length > 0) throw failures[0];
}
