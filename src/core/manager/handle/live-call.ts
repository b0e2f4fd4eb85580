import { randomUUID } from "node:crypto";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import type { LongRunningHandle } from "../call/long-running-call.js";
import type { ToolResult } from "../call/tool-call.js";
import { idOf } from "./check-arguments.js";

/** How many that have ended are kept in a session, to be asked about. */
const MOST_ENDED = 32;

/** A process or a terminal, as it is listed. */
export interface LiveCallInfo {
  readonly id: string;
  readonly state: "running" | "ended";
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly reason?: ToolResult["reason"];
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly error?: string;
}

/** What goes on in a session beside other calls, for every handle of it. */
export abstract class LiveCall {
  readonly id = randomUUID();
  readonly #startedAt = new Date();
  readonly #handle: LongRunningHandle;
  #end: Partial<LiveCallInfo> | undefined;

  constructor(handle: LongRunningHandle) {
    this.#handle = handle;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Its result, once it has ended. */
  get exit(): Promise<ToolResult> {
    return this.#handle.exit;
  }

  info(): LiveCallInfo {
    const state = this.#end === undefined ? "running" : "ended";
    return { id: this.id, state, startedAt: this.#startedAt.toISOString(), ...this.#end };
  }

  /** Ends it, in any state; resolves when nothing of it is left. */
  close(): Promise<void> {
    return this.#handle.close();
  }

  /** Lets go of what is kept of its output. */
  forget(): void {
    // Without one nothing is kept elsewhere.
  }

  /** Called once. */
  protected async watch(over: Promise<unknown>): Promise<void> {
    await over.catch(() => undefined);
    const endedAt = () => new Date().toISOString();
    this.#end = await this.#handle.exit.then(
      ({ reason, exitCode, signal, error }) => ({
        endedAt: endedAt(),
        reason,
        exitCode,
        signal,
        ...(error !== undefined && { error }),
      }),
      (error: unknown) => ({ endedAt: endedAt(), error: toSandboxError(error).message }),
    );
  }
}

/** Lists a call, and forgets the one that ended first where too many have. */
export function addCall<Call extends LiveCall>(calls: Map<string, Call>, call: Call): void {
  const ended = [...calls.values()].filter(({ hasEnded }) => hasEnded);
  const endOf = (each: Call) => each.info().endedAt ?? "";
  ended.sort((one, other) => endOf(one).localeCompare(endOf(other)));
  for (const each of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) {
    calls.delete(each.id);
    each.forget();
  }
  calls.set(call.id, call);
}

/** The call of that id. NOT_FOUND: there is none, or it was deleted. */
export function findCall<Call>(calls: ReadonlyMap<string, Call>, id: string, what: string): Call {
  const found = calls.get(idOf(id, what));
  if (found !== undefined) return found;
  throw new SandboxError("NOT_FOUND", `There is no such ${what}`, {
    hint: `The list of the session's ${what === "process" ? "processes" : "terminals"} has them.`,
  });
}
