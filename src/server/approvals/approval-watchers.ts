import type { ApprovalOutcome, ApprovalRecord, Store } from "../store/index.js";

/** What watchers of an org's approvals get. */
export type ApprovalEvent =
  | { readonly type: "requested"; readonly approval: ApprovalRecord }
  | { readonly type: "decided"; readonly id: string; readonly outcome: ApprovalOutcome };

type Listener = (event: ApprovalEvent) => void;

/** What the watchers of one org have been told of. */
interface Org {
  readonly listeners: Set<Listener>;
  /** Until when it may still be found in the store, and whether it is known to be decided. */
  readonly known: Map<string, { readonly until: number; readonly isDecided: boolean }>;
  /** Everything that was there before has been looked at. */
  isKnown: boolean;
}

/** Between two polls for what happened at other servers. */
const LOOK_MS = 500;
/** Servers' clocks may differ by so much. */
const AFTER_EXPIRY_MS = 60_000;

/**
 * Reports every request and decision of an org to its watchers, once, wherever they were made: here, or at another
 * server of the same PostgreSQL, which is polled while there are watchers.
 */
export class ApprovalWatchers {
  readonly #orgs = new Map<string, Org>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly store: Store) {}

  /** Reports everything from now on, until the returned function is called. */
  watch(name: string, listener: Listener): () => void {
    const org = this.#orgs.get(name) ?? { listeners: new Set(), known: new Map(), isKnown: false };
    this.#orgs.set(name, org);
    org.listeners.add(listener);
    this.#lookSoon();
    return () => {
      org.listeners.delete(listener);
      if (org.listeners.size === 0 && this.#orgs.get(name) === org) this.#orgs.delete(name);
    };
  }

  /** There is a new request. */
  requested(approval: ApprovalRecord): void {
    const org = this.#orgs.get(approval.org);
    if (org === undefined || org.known.has(approval.id)) return;
    note(org, approval, false);
    const asked = { ...approval, outcome: undefined };
    for (const listener of org.listeners) listener({ type: "requested", approval: asked });
  }

  /** It is decided, at whatever server. */
  decided(approval: ApprovalRecord): void {
    const { id, outcome } = approval;
    const org = this.#orgs.get(approval.org);
    if (org === undefined || outcome === undefined || org.known.get(id)?.isDecided === true) return;
    // Requested and decided between two polls: both are reported.
    this.requested(approval);
    note(org, approval, true);
    for (const listener of org.listeners) listener({ type: "decided", id, outcome });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #lookSoon(): void {
    if (this.store.kind !== "postgres" || this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(async () => {
      // The next poll tries again.
      const looks = [...this.#orgs].map(([name, org]) => this.#look(name, org).catch(() => undefined));
      await Promise.all(looks);
      this.#timer = undefined;
      if (this.#orgs.size > 0) this.#lookSoon();
    }, LOOK_MS).unref();
  }

  async #look(name: string, org: Org): Promise<void> {
    const { approvals } = this.store;
    const open = [...org.known].filter(([, { isDecided }]) => !isDecided).map(([id]) => id);
    const states = await approvals.listStates(name, {
      expiringAfter: Date.now() - AFTER_EXPIRY_MS,
      ids: open,
    });
    const news = states.filter(({ id, isDecided }) => isNews(org, id, isDecided)).map(({ id }) => id);
    for (const approval of await approvals.getAll(name, news)) {
      // Decided before there were watchers: only a watcher that has just seen it pending needs the decision.
      if (!org.isKnown && approval.outcome !== undefined) note(org, approval, false);
      if (approval.outcome === undefined) this.requested(approval);
      else this.decided(approval);
    }
    org.isKnown = true;
    forget(org, new Set(states.map(({ id }) => id)));
  }
}

function note({ known }: Org, { id, expiresAt }: ApprovalRecord, isDecided: boolean): void {
  known.set(id, { until: expiresAt + 2 * AFTER_EXPIRY_MS, isDecided });
  // Without polling (SQLite) nothing else forgets old entries.
  for (const [old, { until, isDecided: isOver }] of known) {
    if (!isOver || until > Date.now()) break;
    known.delete(old);
  }
}

function isNews({ known }: Org, id: string, isDecided: boolean): boolean {
  const before = known.get(id);
  return before === undefined || (isDecided && !before.isDecided);
}

/** What is decided, and no longer found, cannot come up again; what was pruned will never be decided. */
function forget({ known }: Org, found: ReadonlySet<string>): void {
  for (const [id, { until, isDecided }] of known) {
    if (!found.has(id) && (isDecided ? until <= Date.now() : true)) known.delete(id);
  }
}
