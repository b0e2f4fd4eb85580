import { SandboxError } from "../../kit/errors.js";

/** Something that runs for a client, until `end`. */
export interface Task {
  /** Aborts when the client disconnects, the session ends, or the deadline of a stop has passed. */
  readonly signal: AbortSignal;
  end(): void;
}

export interface TaskOptions {
  /** It only waits for events: a stop aborts it at once. */
  readonly isSubscription?: boolean;
}

interface Entry {
  readonly session: string | undefined;
  readonly isSubscription: boolean;
  readonly controller: AbortController;
}

/** The tasks that run now: a stop waits for them, and the end of a session aborts its own. */
export class TaskRegistry {
  readonly #entries = new Set<Entry>();
  readonly #waiting = new Set<() => void>();

  get size(): number {
    return this.#entries.size;
  }

  /** Also aborts with `signal`. */
  begin(
    session: string | undefined,
    signal?: AbortSignal,
    { isSubscription = false }: TaskOptions = {},
  ): Task {
    const entry = { session, isSubscription, controller: new AbortController() };
    const abort = () => entry.controller.abort(signal?.reason);
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.#entries.add(entry);
    return {
      signal: entry.controller.signal,
      end: () => {
        signal?.removeEventListener("abort", abort);
        if (!this.#entries.delete(entry)) return;
        for (const look of this.#waiting) look();
      },
    };
  }

  /** Aborts the tasks of a session; resolves when they have ended. */
  async abortSession(session: string): Promise<void> {
    this.#abort((entry) => entry.session === session, "The session has ended");
    await this.#until(() => [...this.#entries].every((entry) => entry.session !== session));
  }

  /** Aborts all tasks at once. */
  abortAll(why: SandboxError): void {
    for (const { controller } of this.#entries) controller.abort(why);
  }

  /** Resolves when all tasks have ended; after the deadline they are aborted. */
  async drain(deadlineMs: number): Promise<void> {
    const timer = setTimeout(() => this.#abort(() => true, "The server stops"), deadlineMs);
    this.#abort(({ isSubscription }) => isSubscription, "The server stops");
    await this.#until(() => this.#entries.size === 0);
    clearTimeout(timer);
  }

  #abort(isMeant: (entry: Entry) => boolean, why: string): void {
    for (const entry of this.#entries) {
      if (isMeant(entry)) entry.controller.abort(new SandboxError("CANCELLED", why));
    }
  }

  #until(isOver: () => boolean): Promise<void> {
    if (isOver()) return Promise.resolve();
    return new Promise((resolve) => {
      const look = () => {
        if (!isOver()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
    });
  }
}
