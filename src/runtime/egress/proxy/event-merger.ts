import type { EgressEvent } from "../events.js";

const WINDOW_MS = 1000;
/** Told one by one within a window; what comes beyond is told together at its end. */
const MAX_TOLD = 100;
/** Kinds of one sort that are kept apart within a window. */
const MAX_KINDS = 40;
const MAX_LINES = 20;
const MAX_REMEMBERED_LINES = 1000;

/** Merges events that repeat or come too fast, so that a hostile sandbox cannot flood the listener. */
export class EventMerger {
  /** What was told in this window, or waits for its end, by what it has in common. */
  readonly #window = new Map<string, EgressEvent | undefined>();
  readonly #kinds = new Map<string, number>();
  #told = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly tell: (event: EgressEvent) => void) {}

  add(event: EgressEvent): void {
    if (this.#isClosed) return this.tell(event);
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref();
    const key = this.#keyOf(event);
    const hasRoom = this.#told < MAX_TOLD || hasSecrets(event);
    if (key === undefined || (!this.#window.has(key) && hasRoom)) {
      this.#told++;
      if (key !== undefined) this.#window.set(key, undefined);
      this.tell(event);
      return;
    }
    const waiting = this.#window.get(key);
    this.#window.set(
      key,
      waiting === undefined ? { ...event, count: event.count ?? 1 } : merge(waiting, event),
    );
  }

  /** Tells what waits, now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = [...this.#window.values()];
    this.#window.clear();
    this.#kinds.clear();
    this.#told = 0;
    for (const event of waiting) if (event !== undefined) this.tell(event);
  }

  /** Tells what waits, and from now on each one at once: only what is open may still end. */
  close(): void {
    this.#isClosed = true;
    this.flush();
  }

  /** Undefined: this one is told whatever came before. */
  #keyOf(event: EgressEvent): string | undefined {
    const { verdict, via, host, port, rule, secrets } = event;
    // What was tried with a secret is not to be hidden behind anything else.
    if (hasSecrets(event) && verdict !== "allowed") {
      const key = JSON.stringify(["secret", verdict, host, port, secrets]);
      return this.#window.has(key) || this.#isRoomFor("secret") ? key : JSON.stringify(["secret", secrets]);
    }
    if (this.#told < MAX_TOLD)
      return verdict === "allowed" ? undefined : JSON.stringify([verdict, via, host, port, rule, event.why]);
    const state = event.open === true ? "open" : verdict;
    const key = JSON.stringify([state, via, host, port, rule]);
    return this.#window.has(key) || this.#isRoomFor(state) ? key : state;
  }

  /** Each sort has room of its own: a flood of denials must not take the place of what was allowed. */
  #isRoomFor(sort: string): boolean {
    const kinds = this.#kinds.get(sort) ?? 0;
    this.#kinds.set(sort, kinds + 1);
    return kinds < MAX_KINDS;
  }
}

function hasSecrets({ secrets }: EgressEvent): boolean {
  return secrets !== undefined && secrets.length > 0;
}

/** Several as one: the latest, with the sums of all. */
function merge(waiting: EgressEvent, event: EgressEvent): EgressEvent {
  const { method, path, address, ...rest } = event;
  const secrets = [...new Set([...(waiting.secrets ?? []), ...(event.secrets ?? [])])];
  const isSame = waiting.host === event.host && waiting.port === event.port;
  return {
    ...rest,
    ...(method !== undefined && waiting.method === method && { method }),
    ...(path !== undefined && waiting.path === path && { path }),
    ...(address !== undefined && waiting.address === address && { address }),
    ...(secrets.length > 0 && { secrets }),
    host: isSame ? event.host : "(several)",
    port: isSame ? event.port : 0,
    bytesSent: waiting.bytesSent + event.bytesSent,
    bytesReceived: waiting.bytesReceived + event.bytesReceived,
    durationMs: Math.max(waiting.durationMs, event.durationMs),
    count: (waiting.count ?? 1) + (event.count ?? 1),
  };
}

/** The lines that the agent is told about what was denied: each once, and not more than it can read. */
export class DenialLines {
  readonly #lines = new Set<string>();

  add(line: string): void {
    if (this.#lines.size < MAX_REMEMBERED_LINES) this.#lines.add(line);
  }

  take(): string[] {
    const lines = [...this.#lines];
    this.#lines.clear();
    if (lines.length <= MAX_LINES) return lines;
    const more = lines.length - MAX_LINES;
    const isAll = lines.length < MAX_REMEMBERED_LINES;
    return [...lines.slice(0, MAX_LINES), `and ${isAll ? "" : "at least "}${more} more`];
  }
}
