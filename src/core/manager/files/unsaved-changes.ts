import type { AuditLogger } from "../../../guard/audit/index.js";
import { SandboxError } from "../../../kit/errors.js";
import type { RunningSandbox, UnsavedFiles } from "../../../runtime/sandbox/index.js";

/**
 * Changes that were lost with sandboxes which no caller stopped: of a backend that shares no directory with this host,
 * when they died, or were too old, before everything was copied. The next call of the session is told, once.
 */
export class UnsavedChanges {
  readonly #ofSession = new Map<string, UnsavedFiles>();

  constructor(private readonly audit: AuditLogger | undefined) {}

  /** To be called when a session's sandbox has stopped. */
  note(name: string, { unsaved, id, type, sessionId }: RunningSandbox): void {
    if (unsaved.failure === undefined || unsaved.isTold) return;
    this.#ofSession.set(name, unsaved);
    const { message } = unsaved.failure;
    process.emitWarning(`Session ${JSON.stringify(sessionId)}: ${message}`);
    this.audit
      ?.log({ eventType: "files_lost", sandboxId: id, sessionId, backend: type, details: { why: message } })
      .catch((error: unknown) => {
        process.emitWarning(`The loss of files could not be audited: ${String(error)}`);
      });
  }

  /** Throws when the session's last sandbox took changes with it and no call has been told. */
  tell(name: string): void {
    const failure = this.#take(name);
    if (failure === undefined) return;
    throw new SandboxError(failure.code, `The session's last sandbox was stopped. ${failure.message}`, {
      hint: "This is reported once: call again, and the session goes on with the files on this host.",
      cause: failure,
    });
  }

  /** Losses that no call was told of, for `cleanupAll` to report. What ran in a sandbox that died has failed by itself. */
  takeAll(): SandboxError[] {
    return [...this.#ofSession.keys()]
      .flatMap((name) => this.#take(name) ?? [])
      .filter(({ cause }) => !(cause instanceof SandboxError && cause.code === "SANDBOX_LOST"));
  }

  #take(name: string): SandboxError | undefined {
    const unsaved = this.#ofSession.get(name);
    this.#ofSession.delete(name);
    return unsaved?.isTold === false ? unsaved.failure : undefined;
  }
}
