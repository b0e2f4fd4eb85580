import { AsyncLocalStorage } from "node:async_hooks";
import { basename } from "node:path";
import type {
  ConfirmationAnswer,
  ConfirmationRequest,
  ConfirmationService,
  ConfirmOptions,
} from "../../guard/confirmation/index.js";
import { SandboxError } from "../../kit/errors.js";
import type { ApprovalOutcome, ApprovalRecord, Json, NewDecision, Store } from "../store/index.js";
import { type ApprovalEvent, ApprovalWatchers } from "./approval-watchers.js";

export type { ApprovalEvent } from "./approval-watchers.js";

/** What became of a decision: the first one counts, and later ones are told what it was. */
export interface DecisionResult {
  readonly accepted: boolean;
  readonly approval: ApprovalRecord;
}

/**
 * Asks one more person, at the client that makes the call. Undefined: that person leaves the decision to the others. The
 * signal aborts when there is nothing to decide any more.
 */
export type ExtraApprover = (
  request: ConfirmationRequest,
  signal: AbortSignal,
) => Promise<(ConfirmationAnswer & { readonly by: string }) | undefined>;

interface Waiter {
  readonly org: string;
  readonly stopClock: (() => () => Date) | undefined;
  readonly resolve: (answer: ConfirmationAnswer) => void;
}

/** What pending requests are answered when the server stops. */
const STOPPING: ConfirmationAnswer = { decision: "reject", reason: "The server stops" };
/** Characters of one request: a person cannot read more, and all watchers are sent all of it. */
const MOST_ASKED = 256 * 1024;
/** The same, of all pending requests of an org. */
const MOST_WAITING = 16 * 1024 * 1024;
/** How often we look for what was decided at another server. */
const LOOK_MS = 500;

/**
 * Asks the people who decide for an org, over HTTP, a WebSocket or the command line. The request is in the store, and so
 * is its one decision: a watcher that reconnects finds everything, and a restart knows what it has to reject.
 */
export class ApprovalService implements ConfirmationService {
  readonly name = "approvals";
  readonly #waiters = new Map<string, Waiter>();
  readonly #watchers: ApprovalWatchers;
  /** Characters that wait, by org. */
  readonly #waiting = new Map<string, number>();
  /** Belongs to the call: two callers in one session each have their own. */
  readonly #others = new AsyncLocalStorage<ExtraApprover>();
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(
    private readonly store: Store,
    private readonly server: string,
  ) {
    this.#watchers = new ApprovalWatchers(store);
  }

  async confirm(asking: ConfirmationRequest, options: ConfirmOptions): Promise<ConfirmationAnswer> {
    const { orgId: org, sessionId: uid } = asking;
    if (this.#isStopping) return STOPPING;
    const { name: sessionId = uid } = (await this.store.sessions.getById(org, uid)) ?? {};
    const request = { ...asking, sessionId };
    const asked = toJson(request);
    const size = JSON.stringify(asked).length;
    if (size > MOST_ASKED) return refused("The request is too long to read");
    if ((this.#waiting.get(org) ?? 0) + size > MOST_WAITING)
      return refused("Too many requests wait for a decision");
    this.#count(org, size);
    try {
      return await this.#ask(request, options, asked, uid);
    } finally {
      this.#count(org, -size);
    }
  }

  async #ask(
    request: ConfirmationRequest,
    options: ConfirmOptions,
    asked: Json,
    uid: string,
  ): Promise<ConfirmationAnswer> {
    const { id, orgId: org } = request;
    const approval = await this.store.approvals.add(org, {
      id,
      server: this.server,
      request: asked,
      expiresAt: request.expiresAt.getTime(),
      ...(uid !== "" && { session: uid }),
    });
    const settled = new AbortController();
    try {
      return await new Promise<ConfirmationAnswer>((resolve, reject) => {
        const { signal, stopClock } = options;
        const giveUp = () => reject(signal.reason);
        if (signal.aborted) return giveUp();
        signal.addEventListener("abort", giveUp, { once: true });
        this.#waiters.set(id, { org, stopClock, resolve });
        this.#watchers.requested(approval);
        this.#lookElsewhere();
        // When that person cannot be asked, the others decide.
        this.#askOther(request, settled.signal).catch(() => undefined);
      });
    } catch (error) {
      // It timed out, or was cancelled. A decision that came first stays.
      const decision = Date.now() >= approval.expiresAt ? "expired" : "cancelled";
      const decided = await this.store.approvals.decide(org, id, { decision });
      if (decided?.accepted === true) this.#watchers.decided(decided.approval);
      throw error;
    } finally {
      this.#waiters.delete(id);
      settled.abort(new SandboxError("CANCELLED", "It has been decided"));
    }
  }

  /** Requests of this work are asked here and of one more person at once; the first decision counts. */
  withApprover<T>(other: ExtraApprover, work: () => Promise<T>): Promise<T> {
    return this.#others.run(other, work);
  }

  /** Undefined: the org has no such request. */
  async decide(
    org: string,
    id: string,
    answer: ConfirmationAnswer,
    by: string,
  ): Promise<DecisionResult | undefined> {
    const waiter = this.#waiters.get(id);
    const own = waiter?.org === org ? waiter : undefined;
    // The clock stops while a decision is being stored.
    const goOn = own?.stopClock?.();
    try {
      const decided = await this.store.approvals.decide(org, id, { ...decisionOf(answer), by });
      if (decided?.accepted === true) {
        own?.resolve({ ...answer, by });
        this.#watchers.decided(decided.approval);
      }
      return decided;
    } finally {
      goOn?.();
    }
  }

  listPending(org: string): Promise<readonly ApprovalRecord[]> {
    return this.store.approvals.listPending(org);
  }

  /** Reports every request and decision from now on, at any server, until the returned function is called. */
  watch(org: string, listener: (event: ApprovalEvent) => void): () => void {
    return this.#watchers.watch(org, listener);
  }

  /** Takes no new requests; pending ones are rejected, and `note` records each. */
  async stop(note: (approval: ApprovalRecord) => Promise<void>): Promise<void> {
    this.#isStopping = true;
    // Recorded first: if the server is killed in between, the next start records it again, instead of never.
    await Promise.all((await this.store.approvals.listUndecidedOf(this.server)).map(note));
    for (const approval of await this.store.approvals.rejectAllOf(this.server)) {
      this.#waiters.get(approval.id)?.resolve(STOPPING);
      this.#watchers.decided(approval);
    }
  }

  close(): void {
    this.#isStopping = true;
    this.#watchers.close();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #count(org: string, size: number): void {
    const waiting = (this.#waiting.get(org) ?? 0) + size;
    if (waiting === 0) this.#waiting.delete(org);
    else this.#waiting.set(org, waiting);
  }

  async #askOther(request: ConfirmationRequest, signal: AbortSignal): Promise<void> {
    const answer = await this.#others.getStore()?.(request, signal);
    if (answer === undefined || signal.aborted) return;
    await this.decide(request.orgId, request.id, answer, answer.by);
  }

  /** With PostgreSQL, another server may have stored the decision. */
  #lookElsewhere(): void {
    if (this.store.kind !== "postgres" || this.#timer !== undefined || this.#isStopping) return;
    this.#timer = setTimeout(async () => {
      const decided = await this.store.approvals
        .listDecided(this.server, [...this.#waiters.keys()])
        // The next look tries again; the request has its own timeout.
        .catch(() => []);
      for (const approval of decided) {
        const answer = approval.outcome && answerOf(approval.outcome);
        if (answer !== undefined) this.#waiters.get(approval.id)?.resolve(answer);
        this.#watchers.decided(approval);
      }
      this.#timer = undefined;
      if (this.#waiters.size > 0) this.#lookElsewhere();
    }, LOOK_MS);
    this.#timer.unref();
  }
}

/** Rejects without asking, as after a timeout. */
function refused(reason: string): ConfirmationAnswer {
  return { decision: "reject", reason: `${reason}: rejected without asking` };
}

function decisionOf(answer: ConfirmationAnswer): NewDecision {
  switch (answer.decision) {
    case "approve":
      return { decision: "approved", answer: { scope: answer.scope } };
    case "edit":
      return { decision: "edited", answer: { code: answer.code } };
    case "reject":
      return { decision: "rejected", answer: { reason: answer.reason } };
  }
}

/** The answer of an outcome in the store; undefined: it has none. */
function answerOf({ decision, answer, by }: ApprovalOutcome): ConfirmationAnswer | undefined {
  const given = (answer ?? {}) as { scope?: unknown; code?: unknown; reason?: unknown };
  const signed = by === undefined ? {} : { by };
  if (decision === "approved") {
    return { decision: "approve", scope: given.scope === "session" ? "session" : "once", ...signed };
  }
  if (decision === "edited" && typeof given.code === "string") {
    return { decision: "edit", code: given.code, ...signed };
  }
  if (decision !== "rejected") return undefined;
  return {
    decision: "reject",
    ...(typeof given.reason === "string" && { reason: given.reason }),
    ...signed,
  };
}

/** As the store keeps it: times are text, and what is undefined is left out. */
function toJson({ id: _, createdAt: __, expiresAt: ___, rule, ...details }: ConfirmationRequest): Json {
  // The policy's path on this host stays private.
  const named = rule && { ...rule, source: basename(rule.source) };
  return JSON.parse(JSON.stringify({ ...details, rule: named })) as Json;
}
