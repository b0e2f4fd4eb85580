import { SandboxError } from "../../kit/errors.js";

/** How many calls of each key run now, with or without a connection for their answers. */
export class KeyCalls {
  readonly #running = new Map<string, number>();

  constructor(private readonly most: number) {}

  /** Counts a call until the function that it returns is called. RATE_LIMITED: there are too many. */
  enter(key: string): () => void {
    const running = this.#running.get(key) ?? 0;
    if (running >= this.most) {
      throw new SandboxError("RATE_LIMITED", `This key has ${running} calls running, which is the limit`, {
        hint: "Wait for one of them, or raise server.limits.concurrency.",
      });
    }
    this.#running.set(key, running + 1);
    return () => {
      const left = (this.#running.get(key) ?? 1) - 1;
      if (left === 0) this.#running.delete(key);
      else this.#running.set(key, left);
    };
  }
}
