import { SandboxError } from "./sandbox-error.js";

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Left out: the last page. */
  readonly next?: string;
  /** There is more than the server lists. */
  readonly truncated?: true;
}

/** Every item of a list that comes in pages, each asked for when it is wanted. */
export async function* allOf<Item>(
  ask: (cursor: { readonly cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  for (let cursor: { cursor?: string } = {}; ; ) {
    const { items, next, truncated } = await ask(cursor);
    yield* items;
    if (next === undefined && truncated === true) throw tooMany();
    if (next === undefined) return;
    cursor = { cursor: next };
  }
}

/** A part of a list must not be taken for all of it. */
function tooMany(): SandboxError {
  return new SandboxError("UNSUPPORTED", "There is more than the server lists", {
    hint: "List the directories one by one.",
  });
}
