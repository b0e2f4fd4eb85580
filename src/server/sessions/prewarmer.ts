import type { SandboxManager } from "../../core/manager/index.js";
import type { PoolManager } from "../../runtime/pool/index.js";
import type { SessionRecord } from "../store/index.js";
import { settingsOf } from "./session-settings.js";
import type { Task } from "./task-registry.js";

export interface PrewarmerOptions {
  /** The most unused sandboxes; 0: none is started ahead. */
  readonly most: number;
  readonly manager: Pick<SandboxManager, "openSession" | "isRunning">;
  readonly pool?: Pick<PoolManager, "status"> | undefined;
  /** Begins a task of the session, whose end aborts it and waits for it. Undefined: the session has ended. */
  readonly begin: (session: SessionRecord) => Task | undefined;
}

/** A start takes time from calls that run. */
const AT_ONCE = 2;
/** A client that creates more than this does not use the oldest one next. */
const MOST_WAITING = 1000;

/** Starts the sandboxes of new sessions before their first use. A failure is reported at the first use. */
export class Prewarmer {
  readonly #waiting = new Map<string, SessionRecord>();
  readonly #starting = new Set<string>();
  /** Started or starting here, and not used yet. */
  readonly #unused = new Set<string>();
  /** Sessions that ended unused keep their slot: deleting many sessions at once must not start each of the others first. */
  #heldBack = 0;
  #isStopped = false;

  constructor(private readonly options: PrewarmerOptions) {}

  /** How many start now. */
  get starting(): number {
    return this.#starting.size;
  }

  /** Adds a session that was just created. */
  add(session: SessionRecord): void {
    if (this.options.most === 0) return;
    this.#waiting.set(session.id, session);
    if (this.#waiting.size > MOST_WAITING) this.#waiting.delete(this.#waiting.keys().next().value!);
    this.#heldBack = 0;
    this.#advance();
  }

  /** The session is used: its slot is free. */
  used(id: string): void {
    this.#waiting.delete(id);
    this.#unused.delete(id);
    if (this.#waiting.size === 0) return;
    this.#heldBack = 0;
    this.#advance();
  }

  /** The session has ended: its slot is free when another session is used or created. */
  ended(id: string): void {
    this.#waiting.delete(id);
    if (this.#unused.delete(id)) this.#heldBack++;
  }

  /** Starts nothing any more. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting.clear();
  }

  #advance(): void {
    while (!this.#isStopped && this.#starting.size < AT_ONCE && this.#waiting.size > 0 && this.#hasRoom()) {
      const [id, session] = this.#waiting.entries().next().value!;
      this.#waiting.delete(id);
      void this.#start(session);
    }
  }

  async #start(session: SessionRecord): Promise<void> {
    const { id, role } = session;
    const task = this.options.begin(session);
    if (task === undefined) return;
    this.#starting.add(id);
    this.#unused.add(id);
    try {
      const { backend } = settingsOf(session);
      await this.options.manager.openSession(id, { signal: task.signal, caller: { role, backend } });
    } finally {
      task.end();
      this.#starting.delete(id);
      this.#advance();
    }
  }

  #hasRoom(): boolean {
    const { most, manager, pool } = this.options;
    if (this.#unused.size >= most) {
      // Idle sandboxes stop by themselves, and some did not start.
      for (const id of this.#unused)
        if (!this.#starting.has(id) && !manager.isRunning(id)) this.#unused.delete(id);
    }
    if (this.#unused.size + this.#heldBack >= most) return false;
    if (pool === undefined) return true;
    // Calls come first in the pool.
    const { busy, acquiring, waiting, maxInstances } = pool.status();
    return waiting === 0 && busy + acquiring < maxInstances / 2;
  }
}
