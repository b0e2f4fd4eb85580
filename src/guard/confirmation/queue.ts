import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { BoundedMap } from "../../kit/bounded-map.js";
import { SandboxError } from "../../kit/errors.js";
import { parseAnswer } from "./answer.js";
import { outcomeOf, type Rejection, rejection, rememberedApproval } from "./outcome.js";
import type {
  DecideResult,
  PendingConfirmation,
  PendingConfirmations,
  PendingEvent,
  SettledConfirmation,
} from "./pending.js";
import type {
  ConfirmationAnswer,
  ConfirmationDetails,
  ConfirmationOutcome,
  ConfirmationRequest,
  ConfirmationService,
} from "./request.js";
import { copyDetails } from "./request.js";
import { SessionApprovals } from "./session-approvals.js";

export interface ConfirmationQueueOptions {
  /** Left out: everything that is asked is rejected. */
  readonly service?: ConfirmationService | undefined;
  /** From when the service is asked until it must have answered; 60 s if left out. */
  readonly timeoutMs?: number | undefined;
  /** From the request until its end, waiting for its turn included; ten times `timeoutMs` if left out. */
  readonly maxWaitMs?: number | undefined;
  /** How many questions the service is asked at once; 1 if left out. */
  readonly concurrency?: number | undefined;
  /** More than this many requests that wait are rejected; 100 if left out. */
  readonly maxWaiting?: number | undefined;
}

interface Entry {
  request: ConfirmationRequest;
  state: PendingConfirmation["state"];
  /** False once the session was forgotten: an approval now would be for a session that is over. */
  mayRemember: boolean;
  timer: NodeJS.Timeout | undefined;
  readonly controller: AbortController;
  /** Asks the service in the async context of the request: its turn may come in another one. */
  readonly ask: () => void;
  /** The first outcome counts; later ones are ignored. */
  readonly settle: (outcome: ConfirmationOutcome) => void;
}

const LONGEST_MS = 2 ** 31 - 1;
const MAX_SETTLED = 1000;

/** Asks the service one request after the other, and rejects unless the answer is a clear yes. */
export class ConfirmationQueue implements PendingConfirmations {
  readonly #service: ConfirmationService | undefined;
  readonly #timeoutMs: number;
  readonly #maxWaitMs: number;
  readonly #concurrency: number;
  readonly #maxWaiting: number;
  /** In the order they came. */
  readonly #entries = new Map<string, Entry>();
  readonly #settled = new BoundedMap<string, SettledConfirmation>(MAX_SETTLED);
  readonly #approvals = new SessionApprovals();
  readonly #listeners = new Set<(event: PendingEvent) => void>();
  #shown = 0;
  #showing = false;
  #closed = false;

  constructor(options: ConfirmationQueueOptions = {}) {
    this.#service = options.service;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#maxWaitMs = options.maxWaitMs ?? Math.min(10 * this.#timeoutMs, LONGEST_MS);
    this.#concurrency = options.concurrency ?? 1;
    this.#maxWaiting = options.maxWaiting ?? 100;
    checkNumber("timeoutMs", this.#timeoutMs, LONGEST_MS);
    checkNumber("maxWaitMs", this.#maxWaitMs, LONGEST_MS);
    checkNumber("concurrency", this.#concurrency, Number.POSITIVE_INFINITY);
    checkNumber("maxWaiting", this.#maxWaiting, Number.POSITIVE_INFINITY);
  }

  /** Resolves when it is decided, also when it is cancelled. Never rejects. */
  async request(
    details: ConfirmationDetails,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<ConfirmationOutcome> {
    if (this.#closed || signal?.aborted) return rejection("cancelled", "The request was cancelled");
    const copy = copyDetails(details);
    const remembered = this.#remembered(copy);
    if (remembered !== undefined) return remembered;
    if (this.#service === undefined) {
      return rejection(
        "no-service",
        "This needs a confirmation, and no confirmation service is set up: give the manager one as confirmation (docs/tools.md)",
      );
    }
    if (this.#entries.size - this.#shown >= this.#maxWaiting) {
      return rejection("failed", `${this.#maxWaiting} requests already wait for a confirmation`);
    }
    return new Promise((resolve) => {
      const cancel = () => entry.settle(rejection("cancelled", "The request was cancelled"));
      const entry = this.#createEntry(copy, (outcome) => {
        signal?.removeEventListener("abort", cancel);
        resolve(outcome);
      });
      signal?.addEventListener("abort", cancel, { once: true });
      this.#tell({ type: "waiting", pending: entry });
      this.#showNext();
    });
  }

  list(): readonly PendingConfirmation[] {
    return [...this.#entries.values()].map(({ request, state }) => ({ request, state }));
  }

  decide(id: string, answer: ConfirmationAnswer): DecideResult {
    const entry = this.#entries.get(id);
    if (entry === undefined) {
      const settled = this.#settled.get(id);
      return settled === undefined
        ? { accepted: false, reason: "unknown" }
        : { accepted: false, reason: "settled", settled };
    }
    const parsed = parseAnswer(answer);
    if (parsed === undefined) return { accepted: false, reason: "invalid" };
    this.#take(entry, parsed);
    return { accepted: true };
  }

  subscribe(listener: (event: PendingEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Forgets a session's approvals; a request that is open now is not remembered either. */
  forgetSession(sessionId: string): void {
    this.#approvals.forget(sessionId);
    for (const entry of this.#entries.values()) {
      if (entry.request.sessionId === sessionId) entry.mayRemember = false;
    }
  }

  /** Cancels everything, now and from now on. */
  close(): void {
    this.#closed = true;
    for (const entry of [...this.#entries.values()]) {
      entry.settle(rejection("cancelled", "The request was cancelled"));
    }
  }

  #createEntry(details: ConfirmationDetails, resolve: (outcome: ConfirmationOutcome) => void): Entry {
    const now = Date.now();
    const request: ConfirmationRequest = Object.freeze({
      ...details,
      id: randomUUID(),
      createdAt: new Date(now),
      expiresAt: new Date(now + this.#maxWaitMs),
    });
    const settle = (outcome: ConfirmationOutcome) => {
      if (!this.#entries.delete(request.id)) return;
      clearTimeout(entry.timer);
      if (entry.state === "shown") this.#shown--;
      const settled = {
        approved: outcome.approved,
        by: outcome.by,
        cause: outcome.approved ? undefined : outcome.cause,
      };
      this.#settled.set(request.id, settled);
      resolve(outcome);
      // A service that ignores the abort is not waited for.
      entry.controller.abort(new SandboxError("CANCELLED", "No answer is needed any more"));
      this.#tell({ type: "settled", id: request.id, settled });
      this.#showNext();
    };
    const entry: Entry = {
      request,
      state: "waiting",
      mayRemember: true,
      timer: undefined,
      controller: new AbortController(),
      ask: AsyncResource.bind(() => void this.#ask(entry)),
      settle,
    };
    entry.timer = setTimeout(() => settle(this.#expired(this.#maxWaitMs)), this.#maxWaitMs);
    this.#entries.set(request.id, entry);
    return entry;
  }

  #showNext(): void {
    // A request that settles at once frees its place during this loop.
    if (this.#showing || this.#closed) return;
    this.#showing = true;
    for (const entry of this.#entries.values()) {
      if (this.#shown >= this.#concurrency) break;
      if (entry.state === "waiting") this.#show(entry);
    }
    this.#showing = false;
  }

  #show(entry: Entry): void {
    // An approval that came while it waited may cover it.
    const remembered = entry.mayRemember ? this.#remembered(entry.request) : undefined;
    if (remembered !== undefined) return entry.settle(remembered);
    this.#startClock(entry, this.#timeoutMs);
    entry.state = "shown";
    this.#shown++;
    this.#tell({ type: "shown", pending: entry });
    // A listener may have decided it.
    if (this.#entries.has(entry.request.id)) entry.ask();
  }

  /** Gives it that long to be answered, but never longer than it may wait altogether. */
  #startClock(entry: Entry, longestMs: number): Date {
    if (!this.#entries.has(entry.request.id)) return entry.request.expiresAt;
    const leftMs = Math.max(0, entry.request.createdAt.getTime() + this.#maxWaitMs - Date.now());
    const timeoutMs = Math.min(longestMs, leftMs);
    const expiresAt = new Date(Date.now() + timeoutMs);
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => entry.settle(this.#expired(timeoutMs)), timeoutMs);
    entry.request = Object.freeze({ ...entry.request, expiresAt });
    return expiresAt;
  }

  async #ask(entry: Entry): Promise<void> {
    const { name } = this.#service!;
    try {
      const answer: unknown = await this.#service!.confirm(entry.request, {
        signal: entry.controller.signal,
        stopClock: () => {
          this.#startClock(entry, this.#maxWaitMs);
          return () => this.#startClock(entry, this.#timeoutMs);
        },
      });
      const parsed = parseAnswer(answer);
      if (parsed !== undefined) this.#take(entry, parsed);
      else entry.settle(rejection("failed", `The confirmation service ${name} gave an invalid answer`));
    } catch (error) {
      if (error instanceof SandboxError && error.code === "CANCELLED") {
        entry.settle(rejection("cancelled", error.message));
      }
      entry.settle({ ...rejection("failed", `The confirmation service ${name} failed`), error });
    }
  }

  #take(entry: Entry, answer: ConfirmationAnswer): void {
    const { request, mayRemember } = entry;
    const isForSession = answer.decision === "approve" && answer.scope === "session";
    // A service may answer after its time is up.
    // Without a session there is nothing to remember it for.
    const isKept = isForSession && mayRemember && request.sessionId !== "";
    if (isKept && this.#entries.has(request.id)) this.#approvals.add(request, answer.by);
    entry.settle(outcomeOf(answer, request.code));
  }

  #remembered(details: ConfirmationDetails): ConfirmationOutcome | undefined {
    const approval = this.#approvals.find(details);
    return approval && rememberedApproval(details.code, approval.by);
  }

  #expired(afterMs: number): Rejection {
    return rejection("timeout", `No answer within ${Math.max(1, Math.round(afterMs / 1000))} s`);
  }

  #tell(event: PendingEvent): void {
    const told =
      "pending" in event
        ? { ...event, pending: { request: event.pending.request, state: event.pending.state } }
        : event;
    for (const listener of this.#listeners) {
      try {
        listener(told);
      } catch (error) {
        process.emitWarning(`A listener of the confirmation queue failed: ${String(error)}`);
      }
    }
  }
}

function checkNumber(name: string, value: number, most: number): void {
  if (value > 0 && value <= most) return;
  throw new SandboxError("INVALID_ARGUMENT", `${name} must be a number above zero, not ${value}`, {
    hint: "Leave it out for the default.",
  });
}
