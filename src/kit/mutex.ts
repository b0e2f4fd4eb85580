import { SandboxError } from "./errors.js";

/** A place in a mutex's queue, to be used or given up. */
export interface QueuedTurn {
  /** Runs the action when everything queued before has ended. Rejects with CANCELLED if the signal aborted meanwhile. */
  run<T>(action: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  giveUp(): void;
}

/** Runs one action at a time, in the order in which they were queued. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** True while an action runs or waits. */
  get isBusy(): boolean {
    return this.#count > 0;
  }

  /** Queues behind everything that runs or waits now. */
  enqueue(): QueuedTurn {
    const before = this.#last;
    let open: () => void = () => undefined;
    this.#last = new Promise<void>((resolve) => {
      open = () => resolve();
    });
    this.#count++;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      // A turn given up early must not let the next one overtake those before it.
      void before.then(open);
    };
    return {
      giveUp: end,
      run: async (action, signal) => {
        try {
          await before;
          if (signal?.aborted)
            throw new SandboxError("CANCELLED", "The execution was cancelled before it started");
          return await action();
        } finally {
          end();
        }
      },
    };
  }

  run<T>(action: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.enqueue().run(action, signal);
  }
}
