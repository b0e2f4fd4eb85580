import { randomBytes } from "node:crypto";
import type { FencedLease } from "../cluster/index.js";
import type { ExecutionNote, Json, Store } from "../store/index.js";

export interface ExecutionLogOptions {
  readonly store: Store;
  readonly lease: Pick<FencedLease, "server" | "isLost">;
  readonly onFailure: (error: unknown, what: string) => void;
}

/** Most executions end within this time, and are written once. */
const SOON_MS = 10;
const AT_ONCE = 500;

/**
 * The list of executions, written in batches a moment later, so that no call waits for the store. A store that is
 * away costs no caller its result; what could not be written stays queued.
 */
export class ExecutionLog {
  readonly #running = new Map<string, ExecutionNote>();
  readonly #owed = new Map<string, ExecutionNote>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(private readonly options: ExecutionLogOptions) {}

  /** Notes the start of an execution. Returns its id. */
  begin(
    { org, id: session }: { readonly org: string; readonly id: string },
    tool: string,
    id: string = randomBytes(12).toString("hex"),
  ): string {
    const { server } = this.options.lease;
    const execution = { org, id, session, server, tool, startedAt: Date.now() };
    this.#running.set(id, execution);
    this.#owe(execution);
    return id;
  }

  /** Notes its end; only the first call counts. */
  end(id: string, result: Json): void {
    const execution = this.#running.get(id);
    if (!this.#running.delete(id) || execution === undefined) return;
    this.#owe({ ...execution, end: { at: Date.now(), result } });
  }

  /** Resolves when everything so far was written, or the store failed. */
  settle(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  #owe(execution: ExecutionNote): void {
    this.#owed.set(execution.id, execution);
    this.#timer ??= setTimeout(() => void this.settle(), SOON_MS).unref();
  }

  async #write(): Promise<void> {
    const { store, lease, onFailure } = this.options;
    while (this.#owed.size > 0) {
      // No server would end what is written after the lease is lost.
      if (lease.isLost) return this.#owed.clear();
      const some = [...this.#owed.values()].slice(0, AT_ONCE);
      try {
        await store.executions.record(some);
      } catch (error) {
        // The next execution, or the next sweep, tries again.
        return onFailure(error, "executions could not be stored");
      }
      for (const each of some) if (this.#owed.get(each.id) === each) this.#owed.delete(each.id);
    }
  }
}
