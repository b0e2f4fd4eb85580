import type { PoolItem } from "./pool-item.js";
import type { PoolRequest } from "./slot.js";

/** Waiting requests, in order of arrival; and the request of each session, while it waits and while it holds an item. */
export class WaitingLine<Item extends PoolItem> extends Set<PoolRequest<Item>> {
  readonly #sessions = new Map<string, PoolRequest<Item>>();

  ofSession(sessionId: string | undefined): PoolRequest<Item> | undefined {
    return sessionId === undefined ? undefined : this.#sessions.get(sessionId);
  }

  join(claim: PoolRequest<Item>): void {
    this.add(claim);
    if (claim.sessionId !== undefined) this.#sessions.set(claim.sessionId, claim);
  }

  /** It waits no more, and is no session's. */
  forget(claim: PoolRequest<Item>): void {
    this.delete(claim);
    const { sessionId } = claim;
    if (sessionId !== undefined && this.#sessions.get(sessionId) === claim) this.#sessions.delete(sessionId);
  }

  /** Requests that take any prepared item, and have none on its way. */
  takers(): PoolRequest<Item>[] {
    return [...this].filter((claim) => claim.slot === undefined && claim.create === undefined);
  }

  /** How many callers that are. */
  get callers(): number {
    return [...this].reduce((sum, claim) => sum + claim.waiting, 0);
  }
}
