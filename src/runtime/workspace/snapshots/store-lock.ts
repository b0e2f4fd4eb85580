import { setTimeout as sleep } from "node:timers/promises";
import { SandboxError } from "../../../kit/errors.js";
import { assertWanted } from "./snapshot.js";

/** How processes that share a store know of each other. */
export interface ProcessCoordination {
  /** A name that tells which process made a file. */
  label(id: string): string;
  /** True when the process in the label is gone. */
  isGone(label: string): boolean;
  /** One process at a time, for a directory; a killed process has released it. */
  createLock(directory: string): { tryAcquire(): boolean; release(): void };
}

const POLL_MS = 20;
/** The lock is never held while contents are read or written. */
const PATIENCE_MS = 120_000;

/** One at a time in a store, in this process and among others. */
export class StoreLock {
  readonly #processes: ProcessCoordination;
  #last: Promise<unknown> = Promise.resolve();
  #lock:
    | { readonly directory: string; readonly held: ReturnType<ProcessCoordination["createLock"]> }
    | undefined;

  constructor(processes: ProcessCoordination) {
    this.#processes = processes;
  }

  /** Runs the action when it is this one's turn. */
  async take<T>(directory: string, action: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const mine = this.#last.then(async () => {
      const lock = this.#lockOf(directory);
      await acquire(lock, signal);
      try {
        return await action();
      } finally {
        lock.release();
      }
    });
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  /** A session that takes a prepared sandbox over has another directory from then on. */
  #lockOf(directory: string) {
    if (this.#lock?.directory !== directory) {
      this.#lock = { directory, held: this.#processes.createLock(directory) };
    }
    return this.#lock.held;
  }
}

async function acquire(lock: { tryAcquire(): boolean }, signal: AbortSignal | undefined): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!lock.tryAcquire()) {
    assertWanted(signal);
    if (performance.now() > deadline) {
      throw new SandboxError("SANDBOX_BUSY", "Another process is at work on this session's snapshots", {
        hint: "Try again when it is done.",
      });
    }
    await sleep(POLL_MS);
  }
}
