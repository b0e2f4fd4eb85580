import { defined } from "../../kit/defined.js";
import { Durations } from "./durations.js";
import { type AuditQuery, queryAudit } from "./query.js";
import { type AuditRecord, EXECUTION_EVENT } from "./record.js";
import { type CountedRow, TopRows } from "./top-rows.js";

export interface Counted {
  readonly name: string;
  readonly count: number;
}

/** The decisions of one person or service. */
interface Decider {
  readonly by: string;
  readonly count: number;
  /** By outcome: `approved`, `edited`, `rejected`, `timeout`. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Left out: the time was not recorded. */
  readonly halfWithinMs?: number;
  readonly longestMs?: number;
}

interface ReachedHost {
  readonly host: string;
  readonly allowed: number;
  readonly denied: number;
  readonly failed: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

interface BusySession {
  readonly sessionId: string;
  readonly count: number;
  readonly cpuTimeMs: number;
  readonly refused: number;
}

/** What an audit log says about a span of time. The largest of each kind come first. */
export interface AuditReport {
  readonly records: number;
  /** When the first and the last of them ended. */
  readonly first: string | null;
  readonly last: string | null;
  readonly events: readonly Counted[];
  /** Of attempts, as all that follow. */
  readonly results: readonly Counted[];
  readonly tools: readonly Counted[];
  readonly roles: readonly Counted[];
  readonly agents: readonly Counted[];
  readonly riskLevels: readonly Counted[];
  /** What was denied or rejected, by the rule that decided. */
  readonly refusals: readonly Counted[];
  readonly deciders: readonly Decider[];
  readonly interrupted: number;
  readonly hosts: readonly ReachedHost[];
  readonly sessions: readonly BusySession[];
  /** Rules that decided something, as records name them but without their lines. */
  readonly rules: readonly string[];
  /** Lists that were cut. */
  readonly leftOut: readonly string[];
}

export interface ReportOptions extends Pick<AuditQuery, "since" | "until" | "signal"> {
  /** The length of each list; 10 if left out. */
  readonly top?: number;
}

const MAX_KEY = 300;
const NONE = "none";

const counted = () => new TopRows<CountedRow>(() => ({ count: 0 }));

/** Reads the records of a span of time once. Memory does not grow with the log. It does not verify. */
export async function reportAudit(directory: string, options: ReportOptions = {}): Promise<AuditReport> {
  const { top = 10, since, until, signal } = options;
  const tally = new ReportCounts();
  const query: AuditQuery = {
    ...defined({ since, until, signal }),
  };
  for await (const record of queryAudit(directory, query)) tally.add(record);
  return tally.report(top);
}

class ReportCounts {
  #records = 0;
  #first: string | null = null;
  #last: string | null = null;
  #interrupted = 0;
  readonly #lists = {
    events: counted(),
    results: counted(),
    tools: counted(),
    roles: counted(),
    agents: counted(),
    riskLevels: counted(),
    refusals: counted(),
  };
  readonly #rules = counted();
  readonly #deciders = new TopRows(() => ({
    count: 0,
    outcomes: new TopRows<CountedRow>(() => ({ count: 0 }), 10),
    waits: new Durations(),
  }));
  readonly #hosts = new TopRows(() => ({ count: 0, allowed: 0, denied: 0, failed: 0, sent: 0, received: 0 }));
  readonly #sessions = new TopRows(() => ({ count: 0, cpuTimeMs: 0, refused: 0 }));

  add(record: AuditRecord): void {
    this.#records++;
    if (this.#first === null || record.timestamp < this.#first) this.#first = record.timestamp;
    if (this.#last === null || record.timestamp > this.#last) this.#last = record.timestamp;
    this.#lists.events.count(key(record.event_type));
    if (record.policy_rule !== null) this.#rules.count(withoutLine(record.policy_rule));
    if (record.event_type === EXECUTION_EVENT) this.#addAttempt(record);
    else if (record.event_type === "network") this.#addConnection(record);
  }

  report(top: number): AuditReport {
    const told = (rows: TopRows<CountedRow>) =>
      rows.top(top).map(({ key: name, count }) => ({ name, count }));
    const { events, results, tools, roles, agents, riskLevels, refusals } = this.#lists;
    const lists = {
      ...this.#lists,
      deciders: this.#deciders,
      hosts: this.#hosts,
      sessions: this.#sessions,
    };
    return {
      records: this.#records,
      first: this.#first,
      last: this.#last,
      events: told(events),
      results: told(results),
      tools: told(tools),
      roles: told(roles),
      agents: told(agents),
      riskLevels: told(riskLevels),
      refusals: told(refusals),
      deciders: this.#deciders.top(top).map(({ key: by, count, outcomes, waits }) => ({
        by,
        count,
        outcomes: Object.fromEntries(outcomes.top().map((each) => [each.key, each.count])),
        ...waits.describe(),
      })),
      interrupted: this.#interrupted,
      hosts: this.#hosts.top(top).map(({ key: host, allowed, denied, failed, sent, received }) => ({
        ...{ host, allowed, denied, failed },
        bytesSent: sent,
        bytesReceived: received,
      })),
      sessions: this.#sessions
        .top(top)
        .map(({ key: sessionId, count, cpuTimeMs, refused }) => ({ sessionId, count, cpuTimeMs, refused })),
      rules: this.#rules.top().map(({ key: rule }) => rule),
      leftOut: Object.entries(lists).flatMap(([name, rows]) =>
        rows.hasLeftOut || rows.top().length > top ? [name] : [],
      ),
    };
  }

  #addAttempt(record: AuditRecord): void {
    const { result, tool, role, agent_id: agent, session_id: session, risk_level: risk } = record;
    const { results, tools, roles, agents, riskLevels, refusals } = this.#lists;
    results.count(key(result));
    tools.count(key(tool));
    roles.count(key(role));
    agents.count(key(agent));
    riskLevels.count(key(risk));
    if (result === "interrupted") this.#interrupted++;
    const isRefused = result === "denied" || result === "rejected";
    if (isRefused)
      refusals.count(record.policy_rule === null ? "no rule of a policy" : withoutLine(record.policy_rule));
    const row = this.#sessions.count(key(session));
    row.cpuTimeMs += record.cpu_time_ms ?? 0;
    row.refused += isRefused ? 1 : 0;
    if (record.confirmation !== null) this.#addDecision(record, record.confirmation);
  }

  #addDecision({ decided_by: by, details }: AuditRecord, outcome: string): void {
    const decider = this.#deciders.count(key(by));
    decider.outcomes.count(key(outcome));
    const waited = details?.["waited_ms"];
    if (typeof waited === "number") decider.waits.add(waited);
  }

  #addConnection({ result, details, network_bytes_sent, network_bytes_recv }: AuditRecord): void {
    // An open attempt gets another record at its end.
    if (details?.["open"] === true) return;
    const times = typeof details?.["count"] === "number" ? Math.max(1, details["count"]) : 1;
    const row = this.#hosts.count(key(details?.["host"]), times);
    if (result === "denied") row.denied += times;
    else if (result === "failure") row.failed += times;
    else row.allowed += times;
    row.sent += network_bytes_sent ?? 0;
    row.received += network_bytes_recv ?? 0;
  }
}

function key(value: unknown): string {
  return typeof value === "string" && value !== "" ? value.slice(0, MAX_KEY) : NONE;
}

/** A rule keeps its path when lines are put in above it. */
function withoutLine(rule: string): string {
  return rule.replace(/ \(line \d+\)$/, "").slice(0, MAX_KEY);
}
