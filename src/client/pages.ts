/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Left out: the last page. */
  readonly next?: string;
}

/** Every item of a list that comes in pages, each asked for when it is wanted. */
export async function* allOf<Item>(
  ask: (cursor: { readonly cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  for (let cursor: { cursor?: string } = {}; ; ) {
    const { items, next } = await ask(cursor);
    yield* items;
    if (next === undefined) return;
    cursor = { cursor: next };
  }
}
