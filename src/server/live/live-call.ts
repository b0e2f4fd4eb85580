import { randomBytes } from "node:crypto";
import type { LongRunningHandle, ToolResult } from "../../core/manager/index.js";
import { SandboxError } from "../../kit/errors.js";
import type { SessionRecord } from "../store/index.js";

/** How a call ended: with a result, or with the reason for none. */
export type LiveOutcome =
  | { readonly result: ToolResult; readonly failure?: undefined }
  | { readonly failure: SandboxError; readonly result?: undefined };

/** Whose it is. */
export interface LiveOwner {
  readonly session: SessionRecord;
  /** Typing into it or signalling it happens in this role. */
  readonly role: string | undefined;
}

/** A tool call that outlives the request that asked for it: a process, a terminal. */
export abstract class LiveCall<Handle extends LongRunningHandle = LongRunningHandle> {
  /** Also of its row among the executions. */
  readonly id = randomBytes(12).toString("hex");
  readonly startedAt = Date.now();
  readonly #ending = new AbortController();
  #handle: Handle | undefined;
  #endedAt: number | undefined;
  #outcome: LiveOutcome | undefined;

  constructor(readonly owner: LiveOwner) {}

  get state(): "starting" | "running" | "ended" {
    if (this.#outcome !== undefined) return "ended";
    return this.#handle === undefined ? "starting" : "running";
  }

  get endedAt(): number | undefined {
    return this.#endedAt;
  }

  /** Undefined until it has ended. */
  get outcome(): LiveOutcome | undefined {
    return this.#outcome;
  }

  /** Aborts when it is ended. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** It has started; resolves when all its output was read. */
  begin(handle: Handle): Promise<void> {
    this.#handle = handle;
    return this.begun(handle);
  }

  finish(outcome: LiveOutcome): void {
    this.#endedAt = Date.now();
    this.#outcome = outcome;
    // The handle holds the request, and an ended call may be listed for days.
    this.#handle = undefined;
    this.finished(outcome);
  }

  /** Ends it at once, in any state. */
  end(): void {
    this.#ending.abort(new SandboxError("CANCELLED", "It was ended"));
  }

  /** The server stops: what does not end by itself is ended later. */
  abstract stop(): void;

  /** From now on it does not wait for slow readers of its output. */
  abstract release(): void;

  /** It is no longer needed: frees its memory. */
  abstract forget(): void;

  /** CONFLICT: it does not run, or no more. */
  protected get handle(): Handle {
    if (this.#handle !== undefined && this.#outcome === undefined) return this.#handle;
    throw new SandboxError(
      "CONFLICT",
      `It has ${this.#outcome === undefined ? "not started yet" : "ended"}`,
      {
        hint: "Look at its state first.",
      },
    );
  }

  protected abstract begun(handle: Handle): Promise<void>;
  protected abstract finished(outcome: LiveOutcome): void;
}
