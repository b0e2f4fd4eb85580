import type { LongRunningHandle } from "../../core/manager/index.js";
import { SandboxError } from "../../kit/errors.js";
import type { ExecutionLog } from "../executions/index.js";
import { toSummary } from "../executions/index.js";
import { RetryLater, serverStopping, toPublicError } from "../http/index.js";
import type { SessionService, UsedSession } from "../sessions/index.js";
import type { SessionRecord } from "../store/index.js";
import type { LiveCall, LiveOutcome } from "./live-call.js";

export interface LiveCallRegistryOptions {
  readonly executions: ExecutionLog;
  readonly sessions: Pick<SessionService, "use">;
  /** For messages. */
  readonly what: "process" | "terminal";
  /** How many of a session may run at once. */
  readonly mostRunning: number;
  readonly onFailure: (error: unknown, what: string) => void;
}

/** How many that have ended are kept in a session, to be asked about. */
const MOST_ENDED = 32;
/** How many of an org may wait to start: each holds its request, even when its client has disconnected. */
const MOST_STARTING = 64;

/** The live calls of one kind, by session. */
export class LiveCallRegistry<Handle extends LongRunningHandle, Call extends LiveCall<Handle>> {
  /** Session's id, then the call's own. */
  readonly #sessions = new Map<string, Map<string, Call>>();
  readonly #over = new WeakMap<Call, Promise<void>>();
  /** By org. */
  readonly #starting = new Map<string, number>();
  #isStopping = false;

  constructor(private readonly options: LiveCallRegistryOptions) {}

  /**
   * Resolves when it has started. It then runs until it ends, is ended, or its session ends. Rejects with why it did
   * not start; it stays in the list until it is forgotten. CONFLICT, RATE_LIMITED: there are too many.
   */
  async start(call: Call, tool: string, open: (signal: AbortSignal) => Promise<Handle>): Promise<void> {
    const { id } = call.owner.session;
    if (this.#isStopping) throw serverStopping();
    this.#assertRoom(call.owner.session);
    const used = this.options.sessions.use(call.owner.session, call.signal);
    const calls = this.#sessions.get(id) ?? new Map<string, Call>();
    this.#sessions.set(id, calls.set(call.id, call));
    used.signal.addEventListener("abort", () => call.release(), { once: true });
    const opening = this.#open(call, tool, used.signal, open);
    this.#over.set(call, this.#seeToTheEnd(call, opening, used));
    await opening.finally(this.#wait(call.owner.session.org));
  }

  /** The session's calls, the oldest first. */
  list(session: string): Call[] {
    return [...(this.#sessions.get(session)?.values() ?? [])];
  }

  /** NOT_FOUND: the session has none of that id. */
  get(session: string, id: string): Call {
    const found = this.#sessions.get(session)?.get(id);
    if (found !== undefined) return found;
    const { what } = this.options;
    throw new SandboxError("NOT_FOUND", `There is no such ${what}`, {
      hint: `The list of the session's ${what === "process" ? "processes" : "terminals"} has them.`,
    });
  }

  /** Ends it, and forgets it. Resolves when nothing of it is left. */
  async remove(call: Call): Promise<void> {
    call.end();
    await this.#over.get(call);
    this.forget(call);
  }

  forget(call: Call): void {
    const { id } = call.owner.session;
    const calls = this.#sessions.get(id);
    if (calls?.delete(call.id) === true) call.forget();
    if (calls?.size === 0) this.#sessions.delete(id);
  }

  /** The session is gone. */
  forgetSession(session: string): void {
    for (const call of this.list(session)) this.forget(call);
  }

  /** Starts no more calls, and asks those that run to end. */
  stop(): void {
    this.#isStopping = true;
    for (const calls of this.#sessions.values())
      for (const call of calls.values()) {
        if (call.state === "starting") call.end();
        if (call.state === "running") call.stop();
      }
  }

  async #open(
    call: Call,
    tool: string,
    signal: AbortSignal,
    open: (signal: AbortSignal) => Promise<Handle>,
  ): Promise<{ handle: Handle; taken: Promise<void> }> {
    this.options.executions.begin(call.owner.session, tool, call.id);
    const handle = await open(signal);
    // A failure is reported by the wait for its end.
    return { handle, taken: call.begin(handle).catch(() => undefined) };
  }

  /** Never rejects. */
  async #seeToTheEnd(
    call: Call,
    opening: Promise<{ handle: Handle; taken: Promise<void> }>,
    used: UsedSession,
  ): Promise<void> {
    const { executions, onFailure } = this.options;
    let outcome: LiveOutcome;
    try {
      const { handle, taken } = await opening;
      const result = await handle.exit;
      await taken;
      outcome = { result };
    } catch (error) {
      const failure = toPublicError(error);
      if (failure.code === "INTERNAL") onFailure(error, "a call that outlives its request");
      outcome = { failure };
    }
    const { result, failure } = outcome;
    const summary = result === undefined ? { code: failure!.code } : toSummary(result);
    executions.end(call.id, summary);
    call.finish(outcome);
    this.#forgetOldest(call.owner.session.id);
    used.end();
  }

  #assertRoom({ id, org }: SessionRecord): void {
    const { mostRunning, what } = this.options;
    const many = what === "process" ? "processes" : "terminals";
    const running = this.list(id).filter(({ state }) => state !== "ended");
    if (running.length >= mostRunning) {
      throw new SandboxError("CONFLICT", `${mostRunning} ${many} of this session run, which is the limit`, {
        hint: "End one of them, or raise server.processes.perSession.",
      });
    }
    if ((this.#starting.get(org) ?? 0) < MOST_STARTING) return;
    const message = `${MOST_STARTING} ${many} wait to start, which is the limit`;
    throw new RetryLater("RATE_LIMITED", message, 1, "Wait for them, or decide their pending approvals.");
  }

  /** Counts a call that is starting, until the returned function is called. */
  #wait(org: string): () => void {
    const count = (more: number) => {
      const now = (this.#starting.get(org) ?? 0) + more;
      if (now > 0) this.#starting.set(org, now);
      else this.#starting.delete(org);
    };
    count(1);
    return () => count(-1);
  }

  #forgetOldest(session: string): void {
    const ended = this.list(session).filter(({ state }) => state === "ended");
    ended.sort((one, other) => one.endedAt! - other.endedAt!);
    for (const call of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) this.forget(call);
  }
}
