import type { RequestId } from "@modelcontextprotocol/sdk/types.js";

/** Which requests of a client are not answered yet, and which of them came together. */
export class OpenRequests {
  readonly #groups = new Map<RequestId, Set<RequestId>>();

  /** They came in one body, and are answered on one stream. */
  add(ids: readonly RequestId[]): void {
    const group = new Set(ids);
    for (const id of group) this.#groups.set(id, group);
  }

  /** It is, or will never be. True: so are all that came with it. */
  settle(id: RequestId): boolean {
    const group = this.#groups.get(id);
    if (group === undefined) return false;
    group.delete(id);
    this.#groups.delete(id);
    return group.size === 0;
  }

  has(id: RequestId): boolean {
    return this.#groups.has(id);
  }

  /** True: all that came with it are answered. */
  isLast(id: RequestId): boolean {
    return this.#groups.get(id)?.size === 1;
  }
}
