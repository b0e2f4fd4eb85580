const AT_ONCE = 8;

/** Runs the action for each, eight at once; after the first that rejects none begins, and those under way are waited for. */
export async function inParallel<T>(items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const work = async () => {
    while (next < items.length && failures.length === 0) {
      const item = items[next++]!;
      await action(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (failures.length > 0) throw failures[0];
}
