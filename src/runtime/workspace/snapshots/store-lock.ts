import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SandboxError } from "../../../kit/errors.js";
import { FileLock } from "../../../kit/file-lock.js";
import { Mutex } from "../../../kit/mutex.js";
import { processLabel } from "../../../kit/process-label.js";
import { assertWanted } from "./snapshot.js";

const POLL_MS = 20;
/** The lock is never held while contents are read or written. */
const PATIENCE_MS = 120_000;

/** One at a time in a store, in this process and among others. */
export class StoreLock {
  readonly #mutex = new Mutex();
  #lock: { readonly directory: string; readonly held: FileLock } | undefined;

  /** Runs the action when it is this one's turn. */
  async take<T>(directory: string, action: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#mutex.run(async () => {
      const lock = this.#lockOf(directory);
      await acquire(lock, signal);
      try {
        return await action();
      } finally {
        lock.release();
      }
    });
  }

  /** A session that takes a prepared sandbox over has another directory from then on. */
  #lockOf(directory: string): FileLock {
    if (this.#lock?.directory !== directory) {
      const held = new FileLock(directory, processLabel(randomBytes(6).toString("hex")));
      this.#lock = { directory, held };
    }
    return this.#lock.held;
  }
}

async function acquire(lock: FileLock, signal: AbortSignal | undefined): Promise<void> {
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
