import type { SandboxError } from "../../../kit/errors.js";

/** One handle's part in its session. */
export interface OpenHandle {
  /** Aborts when the session is deleted. */
  readonly ended: AbortSignal;
  /** True, once: it was the last handle of the session. */
  leave(): boolean;
}

/** The handles of every session: the last to leave stops what runs. */
export class OpenHandles {
  readonly #sessions = new Map<string, Set<AbortController>>();

  add(session: string): OpenHandle {
    const own = new AbortController();
    const handles = this.#sessions.get(session) ?? new Set();
    this.#sessions.set(session, handles.add(own));
    return {
      ended: own.signal,
      leave: () => {
        if (!handles.delete(own) || handles.size > 0) return false;
        if (this.#sessions.get(session) === handles) this.#sessions.delete(session);
        return true;
      },
    };
  }

  /** The session is gone, for every handle. */
  end(session: string, error: SandboxError): void {
    for (const each of this.#sessions.get(session) ?? []) each.abort(error);
    this.#sessions.delete(session);
  }
}
