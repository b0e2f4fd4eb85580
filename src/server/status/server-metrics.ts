import type { FastifyReply, FastifyRequest } from "fastify";
import type { Metrics } from "../../core/metrics/index.js";
import { POOL_STATUSES } from "../../core/metrics/index.js";
import type { ServerCore } from "../services.js";
import { type Figures, measure } from "./figures.js";

/** From an answer out of memory to an execution's default timeout. */
const DURATION_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 300];

/** Series about the server itself. Labels have values of ours only: routes as they are declared, statuses, states. */
export interface ServerMetrics {
  /** Counts an answer. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  /** Everything, measured now. */
  text(core: ServerCore): Promise<string>;
}

/** Registers the series. */
export async function createServerMetrics(metrics: Metrics, version: string): Promise<ServerMetrics> {
  const { Counter, Gauge, Histogram } = await import("prom-client");
  const registers = [metrics.registry];
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `skerry_${name}`, help, labelNames, registers });
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `skerry_${name}`, help, labelNames, registers });

  const requests = counter("http_requests_total", "Requests that were answered", "method", "route", "status");
  const durations = new Histogram({
    name: "skerry_http_request_duration_seconds",
    help: "From a request to the end of its answer",
    labelNames: ["route"],
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  const set: readonly [
    ReturnType<typeof gauge>,
    (figures: Figures, core: ServerCore) => number | undefined,
  ][] = [
    [gauge("work_running", "Requests that run something now"), ({ running }) => running],
    [gauge("websocket_connections", "WebSockets that are open"), (_, { life }) => life.sockets()],
    [gauge("sandboxes", "Sandboxes in use or starting"), ({ sandboxes }) => sandboxes.running],
    [gauge("store_up", "1: the store answers"), ({ store }) => ("problem" in store ? 0 : 1)],
    [
      gauge("store_ping_seconds", "How long the store takes to answer"),
      ofStore((store) => store.pingMs / 1000),
    ],
    [gauge("store_bytes", "Size of the store"), ofStore((store) => store.bytes)],
    [gauge("sessions_active", "Sessions in the store"), ofStore((store) => store.activeSessions)],
    [
      gauge("executions_running", "Executions that run, in the store"),
      ofStore((store) => store.runningExecutions),
    ],
    [gauge("approvals_pending", "What waits for a person"), ofStore((store) => store.pendingApprovals)],
    [gauge("servers", "Servers of the store that live"), ({ servers }) => servers.length],
    [
      gauge("audit_up", "1: the audit log can be written, and its end is whole"),
      ({ audit }) => audit && Number(audit.failure === undefined && audit.tail.problem === undefined),
    ],
    [
      gauge("audit_last_record_timestamp_seconds", "When the last audit record was written"),
      ({ audit }) =>
        audit !== undefined && "checked" in audit.tail && audit.tail.last !== undefined
          ? Date.parse(audit.tail.last.timestamp) / 1000
          : undefined,
    ],
    [gauge("pool_max", "The most sandboxes there may be"), ({ pool }) => pool?.maxInstances],
    [gauge("pool_waiting", "Callers who wait for a sandbox"), ({ pool }) => pool?.waiting],
    [
      gauge("pool_failing", "1: the pool cannot make sandboxes, and tries again later"),
      ({ pool }) => pool && Number(pool.nextAttemptAt !== undefined),
    ],
  ];
  const disks = gauge("disk_free_bytes", "What is left where the state and the audit directory are", "place");
  const diskSizes = gauge("disk_size_bytes", "How large those file systems are", "place");
  const starts = counter("sandbox_starts_total", "Starts of sandboxes", "status");
  const leases = counter("pool_leases_total", "Sandboxes that the pool handed out: ready, or not", "status");
  const failures = counter("pool_failures_total", "What failed in the pool", "kind");
  gauge("build_info", "The version that runs", "version").set({ version }, 1);

  const tellPool = ({ pool }: Figures) => {
    if (pool === undefined) return;
    for (const status of POOL_STATUSES) metrics.setPoolSize(status, pool[status]);
    total(leases, { ready: pool.hits, made: pool.misses }, "status");
    total(failures, { failure: pool.failures, timeout: pool.timeouts }, "kind");
  };
  return {
    answered(request, reply) {
      const route = routeOf(request);
      const method = route === NO_ROUTE ? "other" : request.method;
      requests.inc({ method, route, status: String(reply.statusCode) });
      durations.observe({ route }, reply.elapsedTime / 1000);
    },
    async text(core) {
      const figures = await measure(core);
      for (const [series, of] of set) {
        const value = of(figures, core);
        // What is not known has no value, rather than an old one.
        if (value === undefined) series.remove();
        else series.set(value);
      }
      for (const { place, freeBytes, totalBytes } of figures.disks) {
        disks.set({ place }, freeBytes);
        diskSizes.set({ place }, totalBytes);
      }
      const { succeeded, failed } = figures.sandboxes.starts;
      total(starts, { succeeded, failed }, "status");
      tellPool(figures);
      return metrics.text();
    },
  };
}

const NO_ROUTE = "none";

/** As it is declared; the pages of the reference are one. */
function routeOf({ routeOptions: { url } }: FastifyRequest): string {
  if (url === undefined) return NO_ROUTE;
  return url.startsWith("/docs") ? "/docs" : url;
}

/** Counters whose totals somebody else keeps. */
function total(
  series: { reset(): void; inc(labels: Record<string, string>, value: number): void },
  totals: Readonly<Record<string, number>>,
  label: string,
): void {
  series.reset();
  for (const [value, sum] of Object.entries(totals)) series.inc({ [label]: value }, sum);
}

function ofStore(of: (store: Exclude<Figures["store"], { problem: unknown }>) => number) {
  return ({ store }: Figures) => ("problem" in store ? undefined : of(store));
}
