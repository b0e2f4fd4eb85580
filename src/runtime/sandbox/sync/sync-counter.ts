import { toSandboxError } from "../../../kit/errors.js";
import type { SyncProblem } from "./tree.js";

const MOST_PROBLEMS = 100;

/** What a copy of a session's files in one direction came to. */
export interface SyncReport {
  /** Files, directories and links that were written. */
  readonly copied: number;
  readonly removed: number;
  /** Of files' contents that were sent. */
  readonly bytes: number;
  /** What was left out, and why; the first hundred. */
  readonly skipped: readonly SyncProblem[];
  /** True when nothing was left out but what can never be copied: special files, names that are not UTF-8. */
  readonly complete: boolean;
}

/** Counts, and remembers what went wrong without keeping all of it. */
export class SyncCounter {
  copied = 0;
  removed = 0;
  bytes = 0;
  readonly #skipped: SyncProblem[];
  readonly #failed = new Set<string>();
  readonly #truncated: boolean;

  constructor(skipped: readonly SyncProblem[], truncated: boolean) {
    this.#skipped = skipped.slice(0, MOST_PROBLEMS);
    this.#truncated = truncated;
  }

  hasFailed(path: string): boolean {
    return this.#failed.has(path);
  }

  /** A sandbox that is gone ends the whole copy; anything else is that file's own trouble. */
  fail(path: string, error: unknown): void {
    const { code, message } = toSandboxError(error, "FILE_FAILED");
    if (code === "SANDBOX_LOST" || code === "SANDBOX_NOT_RUNNING") throw error;
    this.#failed.add(path);
    if (this.#skipped.length < MOST_PROBLEMS) this.#skipped.push({ path, code, message });
  }

  attempt(path: string, action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      this.fail(path, error);
      return false;
    }
  }

  report(): SyncReport {
    const { copied, removed, bytes } = this;
    const complete = this.#failed.size === 0 && !this.#truncated;
    return { copied, removed, bytes, skipped: this.#skipped, complete };
  }
}
