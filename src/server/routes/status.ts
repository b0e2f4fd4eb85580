import { z } from "zod";
import type { App } from "../http/index.js";
import { moment, poolStatus, replies, toMoment, toPoolReply } from "../http/index.js";
import type { Services } from "../services.js";
import type { Figures, RecentEvents } from "../status/index.js";
import { checkServer } from "../status/index.js";
import { measure } from "./measure.js";

const n = z.number();
const check = z.object({
  name: z.string(),
  what: z.string().describe("What is promised."),
  ok: z.boolean().describe("False: it needs attention."),
  found: z.string(),
  todo: z.string().optional().describe("What to do about it."),
});
const kind = z.object({ tool: z.string(), reason: z.string(), count: n });
const status = z
  .object({
    ok: z.boolean().describe("False: one of the checks needs attention."),
    at: moment,
    version: z.string(),
    uptimeMs: n,
    recentMs: n.describe("How far back what is recent goes: an hour, or since the start."),
    checks: z.array(check),
    figures: z.object({
      running: n.describe("Requests that run something now."),
      sockets: n.describe("WebSockets that are open."),
      sandboxes: z.object({
        inUse: n,
        started: n,
        failed: n,
        measured: n,
        alerting: n.describe("Near a limit now."),
        highestCpuPercent: n.optional(),
        highestMemoryPercent: n.optional(),
      }),
      pool: poolStatus.nullable(),
      recent: z.object({
        requests: z.record(z.string(), n).describe("By HTTP status."),
        executions: z.record(z.string(), n).describe("By how they ended."),
        alerts: z.record(z.string(), n).describe("By resource."),
        violations: z.array(kind),
        connections: z.object({
          allowed: n,
          denied: n,
          failed: n,
          withSecret: n.describe("Denied, with a secret that is not for that host."),
        }),
        deniedHosts: z
          .array(z.object({ host: z.string(), count: n }))
          .describe("Of the key's own organisation; made visible."),
      }),
      store: z.object({
        kind: z.string(),
        problem: z.string().optional(),
        pingMs: n.optional(),
        bytes: n.optional(),
        activeSessions: n.optional(),
        runningExecutions: n.optional(),
        pendingApprovals: n.optional(),
      }),
      servers: z.array(z.object({ id: z.string(), url: z.string(), startedAt: moment, isThis: z.boolean() })),
      audit: z
        .object({
          problem: z.string().optional(),
          open: n,
          waiting: n,
          lastSeq: n.optional(),
          lastAt: z.string().optional(),
          bytes: n.optional(),
        })
        .nullable(),
      disks: z.array(z.object({ place: z.string(), freeBytes: n, totalBytes: n })),
      process: z.object({
        memoryBytes: n,
        heapUsedBytes: n,
        heapLimitBytes: n,
        loopDelayP99Ms: n,
        loopDelayMaxMs: n,
      }),
    }),
  })
  .meta({ id: "Status" });

/** The most that are looked up, and told. */
const HOSTS_LOOKED_UP = 200;
const HOSTS_TOLD = 10;

/** The run-time checklist, looked at now. Over all orgs in numbers only. */
export function addStatusRoutes(app: App, services: Services): void {
  app.get(
    "/v1/status",
    {
      schema: {
        summary: "The run-time checklist: what was found, and what to do.",
        response: replies(status),
      },
    },
    async ({ key }) => {
      const { recent, info, lease, hasPolicy } = services;
      const [figures, deniedHosts] = await Promise.all([measure(services), deniedHostsOf(services, key.org)]);
      const checks = checkServer({
        figures,
        recent,
        server: lease.server,
        hasPolicy,
        lastScrapeAt: info.lastScrapeAt,
      });
      return {
        ok: checks.every((each) => each.ok),
        at: toMoment(figures.at.getTime()),
        version: info.version,
        uptimeMs: figures.uptimeMs,
        recentMs: figures.recentMs,
        checks,
        figures: {
          running: figures.running,
          sockets: info.sockets(),
          sandboxes: sandboxesOf(figures),
          pool: toPoolReply(figures.pool),
          recent: { ...recentOf(recent), deniedHosts },
          store: { kind: services.store.kind, ...figures.store },
          servers: figures.servers.map(({ id, url, startedAt }) => ({
            id,
            url,
            startedAt: toMoment(startedAt),
            isThis: id === lease.server,
          })),
          audit: auditOf(figures),
          disks: [...figures.disks],
          process: processOf(figures),
        },
      };
    },
  );
}

/** Which hosts another org's agents ask for is that org's business. */
async function deniedHostsOf({ recent, store }: Services, org: string) {
  const sums = new Map<string, number>();
  const isOwn = new Map<string, boolean>();
  for (const { session, host, count } of recent.deniedHosts().slice(0, HOSTS_LOOKED_UP)) {
    if (!isOwn.has(session)) {
      const found = await store.sessions.getById(org, session).catch(() => undefined);
      isOwn.set(session, found !== undefined);
    }
    if (isOwn.get(session) === true) sums.set(host, (sums.get(host) ?? 0) + count);
  }
  return [...sums]
    .sort(([, one], [, other]) => other - one)
    .slice(0, HOSTS_TOLD)
    .map(([host, count]) => ({ host, count }));
}

function sandboxesOf({ sandboxes }: Figures) {
  const { running, starts, measured, alerting, highest } = sandboxes;
  return {
    inUse: running,
    started: starts.succeeded,
    failed: starts.failed,
    measured,
    alerting,
    ...(highest !== undefined && {
      highestCpuPercent: highest.cpuPercent,
      highestMemoryPercent: highest.memoryPercent,
    }),
  };
}

function recentOf(recent: RecentEvents) {
  const { violations, connections, alerts, executions, requests } = recent;
  return {
    requests: Object.fromEntries(requests.totals()),
    executions: Object.fromEntries(executions.totals()),
    alerts: { cpu: alerts.of("cpu"), memory: alerts.of("memory") },
    violations: violations.totals().map(([name, count]) => {
      const [tool = "", reason = ""] = name.split(" ");
      return { tool, reason, count };
    }),
    connections: {
      allowed: connections.of("allowed"),
      denied: connections.of("denied"),
      failed: connections.of("failed"),
      withSecret: connections.of("secret"),
    },
  };
}

function auditOf({ audit }: Figures) {
  if (audit === undefined) return null;
  const { open, waiting, failure, tail } = audit;
  const problem = failure ?? tail.problem;
  return {
    open,
    waiting,
    ...(problem !== undefined && { problem }),
    ...("checked" in tail && {
      bytes: tail.bytes,
      ...(tail.last !== undefined && { lastSeq: tail.last.seq, lastAt: tail.last.timestamp }),
    }),
  };
}

function processOf({ process }: Figures) {
  const { loopDelay, ...rest } = process;
  return { ...rest, loopDelayP99Ms: loopDelay.p99, loopDelayMaxMs: loopDelay.max };
}
