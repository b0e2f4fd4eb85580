import { SandboxError } from "../../kit/errors.js";

/** What can go on in a sandbox. A snapshot is also one that is brought back. */
export type ActivityKind = "execution" | "terminal" | "snapshot";

/** What goes on in a sandbox now, and when something last did. */
export class Activity {
  readonly #now: Record<ActivityKind, number> = { execution: 0, terminal: 0, snapshot: 0 };
  #lastUsedAt = Date.now();
  #isRestoring = false;

  get count(): number {
    return this.#now.execution + this.#now.terminal + this.#now.snapshot;
  }

  get lastUsedAt(): number {
    return this.count > 0 ? Date.now() : this.#lastUsedAt;
  }

  touch(): void {
    this.#lastUsedAt = Date.now();
  }

  /** As `assertFilesStay`. The function returned says that it has ended. */
  begin(kind: ActivityKind): () => void {
    this.assertFilesStay();
    return this.#count(kind);
  }

  /** Throws while the files are being brought back. */
  assertFilesStay(): void {
    if (this.#isRestoring) throw busy("The sandbox's files are being brought back from a snapshot");
  }

  /** Nothing may run while files are brought back; what waits in a terminal or a context may. */
  beginRestore(): () => void {
    this.assertFilesStay();
    if (this.#now.execution > 0) throw busy("Something runs in the sandbox, and would see its files change");
    const ended = this.#count("snapshot");
    this.#isRestoring = true;
    return () => {
      this.#isRestoring = false;
      ended();
    };
  }

  #count(kind: ActivityKind): () => void {
    this.#now[kind]++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#now[kind]--;
      this.touch();
    };
  }
}

function busy(message: string): SandboxError {
  return new SandboxError("SANDBOX_BUSY", message, { hint: "Wait until it has ended, and try again." });
}
