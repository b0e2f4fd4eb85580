import type { SandboxManager } from "../../core/manager/index.js";
import type { PoolManager } from "../../runtime/pool/index.js";
import type { SessionRecord } from "../store/index.js";
import { settingsOf } from "./session-settings.js";
import type { Task } from "./task-registry.js";

export interface PrewarmerOptions {
  /** So many that nobody has used yet; 0: none is started ahead. */
  readonly most: number;
  readonly manager: Pick<SandboxManager, "openSession" | "isRunning">;
  readonly pool?: Pick<PoolManager, "status"> | undefined;
  /** As every use of a session: its end waits for it, and aborts it. Undefined: it has ended. */
  readonly begin: (session: SessionRecord) => Task | undefined;
}

/** A start takes time from calls that run. */
const AT_ONCE = 2;
/** Whoever makes so many sessions does not use the first of them next. */
const MOST_WAITING = 1000;

/** Starts the sandboxes of new sessions before their first use. What fails is told then, and not before. */
export class Prewarmer {
  readonly #options: PrewarmerOptions;
  readonly #waiting = new Map<string, SessionRecord>();
  readonly #starting = new Set<string>();
  /** Started here, or starting, and used by nobody so far. */
  readonly #unused = new Set<string>();
  /** Places of sessions that ended unused: whoever deletes many must not have each of the others started first. */
  #heldBack = 0;
  #isStopped = false;

  constructor(options: PrewarmerOptions) {
    this.#options = options;
  }

  /** How many start now. */
  get starting(): number {
    return this.#starting.size;
  }

  /** A session that was just made. */
  add(session: SessionRecord): void {
    if (this.#options.most === 0) return;
    this.#waiting.set(session.id, session);
    if (this.#waiting.size > MOST_WAITING) this.#waiting.delete(this.#waiting.keys().next().value!);
    this.#heldBack = 0;
    this.#advance();
  }

  /** Somebody uses it: its place is the next one's. */
  used(id: string): void {
    this.#waiting.delete(id);
    this.#unused.delete(id);
    if (this.#waiting.size === 0) return;
    this.#heldBack = 0;
    this.#advance();
  }

  /** It has ended: its place is free when somebody uses or makes another. */
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
    const task = this.#options.begin(session);
    if (task === undefined) return;
    this.#starting.add(id);
    this.#unused.add(id);
    try {
      const { backend } = settingsOf(session);
      await this.#options.manager.openSession(id, { signal: task.signal, caller: { role, backend } });
    } finally {
      task.end();
      this.#starting.delete(id);
      this.#advance();
    }
  }

  #hasRoom(): boolean {
    const { most, manager, pool } = this.#options;
    if (this.#unused.size >= most) {
      // Idle ones stop by themselves, and some never started.
      for (const id of this.#unused)
        if (!this.#starting.has(id) && !manager.isRunning(id)) this.#unused.delete(id);
    }
    if (this.#unused.size + this.#heldBack >= most) return false;
    if (pool === undefined) return true;
    // What the pool has is for calls first.
    const { busy, acquiring, waiting, maxInstances } = pool.status();
    return waiting === 0 && busy + acquiring < maxInstances / 2;
  }
}
