import { SandboxError } from "../../../kit/errors.js";

/** What this host takes of a sandbox's files, and until when. */
export interface SyncLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
}

/** Counts what arrives, whatever its sender said before. */
export class Budget {
  readonly #deadline: number;
  #bytes: number;
  #entries: number;

  constructor(
    private readonly limits: SyncLimits,
    used: { readonly bytes: number; readonly entries: number },
    timeoutMs: number,
  ) {
    this.#bytes = limits.maxBytes - used.bytes;
    this.#entries = limits.maxEntries - used.entries;
    this.#deadline = performance.now() + timeoutMs;
  }

  spend(bytes: number): void {
    this.assertTime();
    if (bytes <= this.#bytes) {
      this.#bytes -= bytes;
      return;
    }
    throw new SandboxError(
      "DISK_FULL",
      `This host keeps ${this.limits.maxBytes} bytes of a session's files`,
      {
        hint: "Remove files from the workspace, or raise limits.workspace.",
      },
    );
  }

  /** For what was not kept, or is replaced by what comes. */
  giveBack(bytes: number): void {
    this.#bytes += bytes;
  }

  spendEntry(): void {
    this.assertTime();
    if (this.#entries > 0) {
      this.#entries--;
      return;
    }
    throw new SandboxError("DISK_FULL", `This host keeps ${this.limits.maxEntries} files of a session`, {
      hint: "Remove files from the workspace, or raise limits.workspaceInodes.",
    });
  }

  giveBackEntry(): void {
    this.#entries++;
  }

  /** A sandbox may send a byte at a time; that ends, too. */
  assertTime(): void {
    if (performance.now() < this.#deadline) return;
    throw new SandboxError("SANDBOX_LOST", "The sandbox's files could not be copied in time");
  }
}
