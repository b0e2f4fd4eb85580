import { SandboxError } from "../../../kit/errors.js";
import type { FileChange } from "../../../runtime/sandbox/index.js";

/** Who keeps track of what agents do to their files. */
export interface ContextGraph {
  /**
   * Told of every file that an execution created, modified or deleted, one after the other, before its result is handed
   * out. The path is relative to the workspace and was chosen by a program: it may hold anything but a NUL.
   */
  recordFileChange(session: string, path: string, change: FileChange["change"]): void | Promise<void>;
  /** Told of what could not be recorded, and why. Left out: Node's `warning` event tells. */
  onError?(error: SandboxError, session: string, lost: readonly FileChange[]): void;
}

/** How long a result waits for its changes to be recorded. */
const RESULT_WAIT_MS = 1_000;
/** A call that takes longer has failed. */
const CALL_MS = 10_000;
/** What waits behind calls that take long; more is lost, and told of. */
const MAX_WAITING = 50_000;

/** Reports changes to a context graph, in order within a session. A slow or failing graph does not affect the calls. */
export class ChangeRecorder {
  /** The last of each session's. */
  readonly #underWay = new Map<string, Promise<void>>();
  #waiting = 0;
  #isClosed = false;

  constructor(private readonly graph: ContextGraph) {
    if (typeof (graph as Partial<ContextGraph> | null)?.recordFileChange !== "function") {
      throw new SandboxError("INVALID_ARGUMENT", "contextGraph takes an object with recordFileChange", {
        hint: "For example { recordFileChange(session, path, change) { … } }.",
      });
    }
  }

  /** Resolves when all of it is recorded, or after a second; the rest goes on. Never rejects. */
  async record(session: string, changes: readonly FileChange[]): Promise<void> {
    const room = Math.max(0, MAX_WAITING - this.#waiting);
    const taken = changes.slice(0, room);
    if (taken.length < changes.length) this.#lose("too many changes wait", session, changes.slice(room));
    this.#waiting += taken.length;
    const before = this.#underWay.get(session) ?? Promise.resolve();
    const recorded = before.then(() => this.#tell(session, taken));
    this.#underWay.set(session, recorded);
    void recorded.then(() => {
      if (this.#underWay.get(session) === recorded) this.#underWay.delete(session);
    });
    await within(recorded, RESULT_WAIT_MS);
  }

  /** Waits for what is under way, for as long as one call may take; the rest is lost. */
  async close(): Promise<void> {
    await within(Promise.all(this.#underWay.values()), CALL_MS);
    this.#isClosed = true;
  }

  async #tell(session: string, changes: readonly FileChange[]): Promise<void> {
    const lost: FileChange[] = [];
    let failure: unknown;
    for (const each of changes) {
      try {
        if (this.#isClosed) throw new Error("the manager was closed");
        const told = this.graph.recordFileChange(session, each.path, each.change);
        if (told !== undefined && !(await within(Promise.resolve(told), CALL_MS))) {
          throw new Error(`it took more than ${CALL_MS / 1000} seconds`);
        }
      } catch (error) {
        failure ??= error;
        lost.push(each);
      }
      this.#waiting--;
    }
    if (lost.length > 0) this.#lose(failure, session, lost);
  }

  #lose(cause: unknown, session: string, lost: readonly FileChange[]): void {
    const why = cause instanceof Error ? cause.message : String(cause);
    const error = new SandboxError(
      "INTERNAL",
      `The context graph did not record ${lost.length} changed files: ${why}`,
      { cause },
    );
    try {
      if (this.graph.onError === undefined) process.emitWarning(error.message);
      else this.graph.onError(error, session, lost);
    } catch {
      // The listener of failures has failed: nothing is left to tell.
    }
  }
}

/** False: it took longer. Rejects only when the promise does in time. */
async function within(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
