import { SandboxError } from "../../../kit/errors.js";
import { assertWanted } from "./snapshot.js";

const WORK_MS = 600_000;

/** Watches the caller and the clock: work on files that others change must end, whatever they do. */
export class WorkClock {
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: number;

  constructor(signal: AbortSignal | undefined, timeoutMs = WORK_MS) {
    this.#signal = signal;
    this.#deadline = performance.now() + timeoutMs;
  }

  /** Throws when the caller has left, or when it has taken too long. */
  check(): void {
    assertWanted(this.#signal);
    if (performance.now() < this.#deadline) return;
    throw new SandboxError("FILE_FAILED", "The workspace's files could not be copied in time", {
      hint: "Something inside may use up its processor or disk. Try again when it is done.",
    });
  }

  /** The same bytes, checked as they come. */
  async *through(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      this.check();
      yield chunk;
    }
  }
}
