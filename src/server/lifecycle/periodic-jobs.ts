import type { FastifyBaseLogger } from "fastify";
import { logError } from "../http/index.js";
import type { Store } from "../store/index.js";

/** Jobs that run at intervals while the server does. */
export class PeriodicJobs {
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #running = new Set<Promise<void>>();

  constructor(private readonly log: FastifyBaseLogger) {}

  /** A job never overlaps itself. A failure is logged, and the next run tries again. */
  every(ms: number, action: () => Promise<unknown>): void {
    let isBusy = false;
    const timer = setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      const done: Promise<void> = action()
        .catch((error: unknown) => logError({ log: this.log }, error))
        .then(() => {
          isBusy = false;
          this.#running.delete(done);
        });
      this.#running.add(done);
    }, ms);
    this.#timers.push(timer.unref());
  }

  /** Resolves when no job runs any more. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#running);
  }
}

/** Deletes records of what ended before a moment. */
export async function forgetOld(store: Store, before: number): Promise<void> {
  await store.sessions.prune(before);
  await store.approvals.prune(before);
  await store.executions.prune({ before });
  await store.audit.prune(before);
}
