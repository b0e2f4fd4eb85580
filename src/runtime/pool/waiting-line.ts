import type { PoolItem } from "./pool-item.js";
import type { PoolRequest } from "./slot.js";

/** Waiting requests, in order of arrival; and the request of each session, while it waits and while it holds an item. */
export class WaitingLine<Item extends PoolItem> extends Set<PoolRequest<Item>> {
  readonly #sessions = new Map<string, PoolRequest<Item>>();

  ofSession(sessionId: string | undefined): PoolRequest<Item> | undefined {
    return sessionId === undefined ? undefined : this.#sessions.get(sessionId);
  }

  join(request: PoolRequest<Item>): void {
    this.add(request);
    if (request.sessionId !== undefined) this.#sessions.set(request.sessionId, request);
  }

  /** It waits no more, and is no session's. */
  forget(request: PoolRequest<Item>): void {
    this.delete(request);
    const { sessionId } = request;
    if (sessionId !== undefined && this.#sessions.get(sessionId) === request)
      this.#sessions.delete(sessionId);
  }

  /** Requests that take any prepared item, and have none on its way. */
  takers(): PoolRequest<Item>[] {
    return [...this].filter((request) => request.slot === undefined && request.create === undefined);
  }

  /** How many callers that are. */
  get callers(): number {
    return [...this].reduce((sum, request) => sum + request.waiting, 0);
  }
}
