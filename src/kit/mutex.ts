import { SandboxError } from "./errors.js";

/** A place in the line. Whoever has one takes it or leaves it. */
export interface Turn {
  /** Runs the action when everybody before has ended. One whose signal is aborted while it waits never begins. */
  take<T>(action: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  leave(): void;
}

/** Lets one at a time in, in the order in which they came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  get isBusy(): boolean {
    return this.#count > 0;
  }

  /** A place behind everybody who has one now. */
  enter(): Turn {
    const before = this.#last;
    let leave: () => void = () => undefined;
    this.#last = new Promise<void>((resolve) => {
      leave = () => resolve();
    });
    this.#count++;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      // Whoever comes next waits for those before, too.
      void before.then(leave);
    };
    return {
      leave: end,
      take: async (action, signal) => {
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

  /** The same, and takes it. */
  take<T>(action: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.enter().take(action, signal);
  }
}
