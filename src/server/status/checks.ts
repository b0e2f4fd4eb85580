import { ago, amount, bytes, count, percent, span } from "../../kit/format-quantity.js";
import { isDiskLow } from "../../runtime/workspace/index.js";
import type { Figures } from "./figures.js";
import type { RecentEvents } from "./recent-events.js";

/** One line of the run-time checklist in docs/operations.md. */
export interface Check {
  readonly name: string;
  /** What is promised. */
  readonly what: string;
  /** False: it needs attention. */
  readonly ok: boolean;
  readonly found: string;
  /** What to do, where something is to be done. */
  readonly todo?: string;
}

export interface CheckedServer {
  readonly figures: Figures;
  readonly recent: RecentEvents;
  /** The own id in the store. */
  readonly server: string;
  readonly hasPolicy: boolean;
  /** When /metrics was last read. */
  readonly lastScrapeAt: Date | undefined;
}

/** In an hour: more is an agent that keeps trying, or a rule that does not fit. */
const MANY_VIOLATIONS = 100;
const MANY_DENIED = 100;
const SLOW_PING_MS = 1000;
const SLOW_LOOP_MS = 1000;
const FULL_HEAP = 0.85;
const MAX_KINDS = 5;

/** Everything that is looked at, in the order of the document. */
export function checkServer(checked: CheckedServer): Check[] {
  return [
    checkPool(checked),
    checkResources(checked),
    checkNetwork(checked),
    checkAudit(checked),
    checkViolations(checked),
    checkStore(checked),
    checkServers(checked),
    checkDisks(checked),
    checkRequests(checked),
    checkProcess(checked),
  ];
}

function line(name: string, what: string, found: string, todo: string | undefined): Check {
  return { name, what, ok: todo === undefined, found, ...(todo !== undefined && { todo }) };
}

function checkPool({ figures: { pool, sandboxes, at, recentMs } }: CheckedServer): Check {
  const what = "sandboxes can start, and those kept ready are healthy";
  const { running, starts } = sandboxes;
  const started = `${count(running, "sandbox", "sandboxes")} in use, ${starts.succeeded} started, ${starts.failed} failed to`;
  const failed = starts.lastFailed
    ? `The last start failed with ${starts.lastFailure?.code}: see the log, and skerry doctor on this host.`
    : undefined;
  if (pool === undefined) return line("pool", what, `${started}; no pool`, failed);
  const { idle, acquiring, busy, resetting, leaving, waiting, maxInstances, nextAttemptAt } = pool;
  const all = idle + acquiring + busy + resetting + leaving;
  const found = `${started}; pool of ${maxInstances}: ${idle} idle, ${acquiring} acquiring, ${busy} busy, ${waiting} waiting; ${pool.failures} failures, ${pool.timeouts} timed out`;
  const isRecent = (then: Date | undefined) => then !== undefined && at.getTime() - then.getTime() < recentMs;
  const todo =
    nextAttemptAt !== undefined
      ? `The pool cannot make sandboxes (${pool.lastFailure?.code}) and tries again later: see skerry pool status and skerry doctor on this host.`
      : (waiting > 0 && all >= maxInstances) || isRecent(pool.lastTimeoutAt)
        ? "Callers wait for a sandbox, or timed out in the last hour: raise server.pool.maxInstances, or lower sandbox.runtime.idleTimeout."
        : failed;
  return line("pool", what, found, todo);
}

function checkResources({ figures: { sandboxes }, recent }: CheckedServer): Check {
  const what = "sandboxes stay within their limits";
  const { running, measured, highest, alerting } = sandboxes;
  const use =
    highest === undefined
      ? `none of ${running} measured so far`
      : `${measured} of ${running} measured: cpu ${percent(highest.cpuPercent)} and memory ${percent(highest.memoryPercent)} of the limit at most`;
  const [cpu, memory] = [recent.alerts.of("cpu"), recent.alerts.of("memory")];
  const found = `${use}; alerts in the last hour: ${cpu} cpu, ${memory} memory`;
  const todo =
    alerting === 0
      ? undefined
      : `${count(alerting, "sandbox is", "sandboxes are")} near a limit now: skerry audit query on this host shows resource_alert; raise the limit, or end the session.`;
  return line("resources", what, found, todo);
}

function checkNetwork({ recent }: CheckedServer): Check {
  const what = "no unusual connections";
  const of = (verdict: string) => recent.connections.of(verdict);
  const secrets = of("secret");
  const found = `in the last hour ${of("allowed")} allowed, ${of("denied")} denied, ${of("failed")} failed${secrets > 0 ? `, ${secrets} with a secret for another host` : ""}`;
  const todo =
    secrets > 0
      ? "Something tried to send a secret to a host that is not its own: see skerry egress log on this host, end that session, and change the secret."
      : of("denied") >= MANY_DENIED
        ? "Many connections are denied: see skerry egress log on this host for who tries what; allow the host, or look at what the agent does."
        : undefined;
  return line("network", what, found, todo);
}

function checkAudit({ figures: { audit, at } }: CheckedServer): Check {
  const what = "every attempt is recorded";
  if (audit === undefined) {
    return line("audit", what, "there is no audit log", "Set sandbox.audit.enabled to true and restart.");
  }
  const { failure, tail, open, waiting } = audit;
  if (failure !== undefined) {
    const found = `nothing can be written (${failure}), ${count(waiting, "record waits", "records wait")}`;
    return line(
      "audit",
      what,
      found,
      "No call runs until it can: see the log, the disk's space and who owns the audit directory.",
    );
  }
  if (!("checked" in tail)) return line("audit", what, tail.problem, "See who owns the audit directory.");
  const last =
    tail.last === undefined
      ? "no record yet"
      : `last record ${tail.last.seq}, ${ago(at, new Date(tail.last.timestamp))}`;
  const size = `${bytes(tail.bytes)} in ${count(tail.files, "file", "files")}`;
  const found = `can be written; ${last}; ${open} open, ${waiting} waiting; ${size}; ${tail.problem ?? `the last ${tail.checked} are whole`}`;
  const todo =
    tail.problem === undefined
      ? undefined
      : "The end of the chain is not whole: run skerry audit verify on this host, and find out who changed it.";
  return line("audit", what, found, todo);
}

function checkViolations({ recent, hasPolicy, lastScrapeAt, figures }: CheckedServer): Check {
  const what = "violations of the policy are counted, and /metrics is read";
  const totals = recent.violations.totals();
  const sum = totals.reduce((all, [, each]) => all + each, 0);
  const shown = totals.slice(0, MAX_KINDS).map(([kind, each]) => `${kind.replace(" ", " by ")} ${each}`);
  const more = totals.length > shown.length ? [`${totals.length - shown.length} more kinds`] : [];
  const kinds = shown.length === 0 ? "" : ` (${[...shown, ...more].join(", ")})`;
  const rejected = recent.executions.of("rejected");
  const seen =
    lastScrapeAt === undefined ? "/metrics was never read" : `/metrics read ${ago(figures.at, lastScrapeAt)}`;
  const found = `${hasPolicy ? "" : "no policy is loaded; "}in the last hour ${count(sum, "violation", "violations")}${kinds}, ${rejected} rejected; ${seen}`;
  const todo =
    sum < MANY_VIOLATIONS
      ? undefined
      : "Many calls are refused: see skerry audit query --result denied --since 1h on this host for who keeps trying, or which rule does not fit.";
  return line("violations", what, found, todo);
}

function checkStore({ figures: { store } }: CheckedServer): Check {
  const what = "the store answers";
  if ("problem" in store) {
    return line("store", what, `it does not (${store.problem})`, "See that the database runs, and the log.");
  }
  const { pingMs, activeSessions, runningExecutions, pendingApprovals } = store;
  const found = `in ${pingMs.toFixed(1)} ms; ${bytes(store.bytes)}; ${count(activeSessions, "session", "sessions")}, ${count(runningExecutions, "execution", "executions")} running, ${count(pendingApprovals, "approval", "approvals")} pending`;
  const todo =
    pingMs < SLOW_PING_MS ? undefined : "It is slow: look at the database, its disk and the way to it.";
  return line("store", what, found, todo);
}

function checkServers({ figures: { servers, at }, server }: CheckedServer): Check {
  const what = "this server holds its lease in the store";
  const others = servers.filter(({ id }) => id !== server).length;
  const own = servers.find(({ id }) => id === server);
  const found =
    own === undefined
      ? `it is not among the ${servers.length} that live`
      : `${count(servers.length, "server lives", "servers live")}, this one started ${ago(at, new Date(own.startedAt))}${others > 0 ? "; each answers for its own pool and log" : ""}`;
  return line(
    "servers",
    what,
    found,
    own === undefined ? "Its lease has run out, or the store does not answer: restart it." : undefined,
  );
}

function checkDisks({ figures: { disks } }: CheckedServer): Check {
  const what = "there is room on the disks";
  const found = disks.map(
    ({ place, freeBytes, totalBytes }) => `${place} ${bytes(freeBytes)} of ${bytes(totalBytes)} free`,
  );
  const low = disks.filter(isDiskLow).map(({ place }) => place);
  return line(
    "disk",
    what,
    found.join(", "),
    low.length === 0
      ? undefined
      : `Make room where the ${low.join(" and ")} directory is: delete sessions, or set sandbox.audit.keepFiles.`,
  );
}

function checkRequests({ recent, figures: { running } }: CheckedServer): Check {
  const what = "the server answers";
  const of = (status: number) => recent.requests.of(String(status));
  const all = recent.requests.totals().reduce((sum, [, each]) => sum + each, 0);
  const found = `${count(running, "call runs", "calls run")}; in the last hour ${count(all, "request", "requests")}, ${of(500)} failed inside, ${of(503)} unavailable, ${of(429)} above an allowance`;
  return line(
    "requests",
    what,
    found,
    of(500) === 0 ? undefined : 'Something is wrong inside: the log has it as "request failed".',
  );
}

function checkProcess({ figures: { process, uptimeMs } }: CheckedServer): Check {
  const what = "the process is healthy";
  const { memoryBytes, heapUsedBytes, heapLimitBytes, loopDelay } = process;
  const found = `up ${span(uptimeMs)}, ${bytes(memoryBytes)} resident, heap ${bytes(heapUsedBytes)} of ${bytes(heapLimitBytes)}, event loop late by ${amount(loopDelay.p99)} ms (p99)`;
  const todo =
    heapUsedBytes > heapLimitBytes * FULL_HEAP
      ? "Its memory is nearly used up: restart it, and give it more with NODE_OPTIONS=--max-old-space-size."
      : loopDelay.p99 > SLOW_LOOP_MS
        ? "It is overloaded: fewer callers at once (server.limits.concurrency), or more cores."
        : undefined;
  return line("process", what, found, todo);
}
