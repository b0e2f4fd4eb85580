import type { FastifyReply, FastifyRequest } from "fastify";
import { type Metrics, POOL_STATUSES } from "../../core/metrics/index.js";
import type { Figures } from "./figures.js";

/** From a reply out of memory to an execution's default timeout. */
const DURATION_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 300];

/** Series about the server itself. Labels have only values that we chose: routes as declared, statuses, states. */
export interface ServerMetrics {
  /** Counts a reply. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  /** All series, with these figures. */
  text(figures: Figures, openSockets: number): Promise<string>;
}

type StoreStatus = Exclude<Figures["store"], { problem: unknown }>;

function ofStore(of: (store: StoreStatus) => number) {
  return ({ store }: Figures) => ("problem" in store ? undefined : of(store));
}

/** Gauges without labels: name, help, value. A value that is unknown (undefined) is left out, rather than an old one told. */
const GAUGES: readonly (readonly [string, string, (figures: Figures) => number | undefined])[] = [
  ["work_running", "Requests that run something now", ({ running }) => running],
  ["sandboxes", "Sandboxes in use or starting", ({ sandboxes }) => sandboxes.running],
  ["store_up", "1: the store answers", ({ store }) => ("problem" in store ? 0 : 1)],
  ["store_ping_seconds", "How long the store takes to answer", ofStore(({ pingMs }) => pingMs / 1000)],
  ["store_bytes", "Size of the store", ofStore(({ bytes }) => bytes)],
  ["sessions_active", "Sessions in the store", ofStore(({ activeSessions }) => activeSessions)],
  [
    "executions_running",
    "Executions that run, in the store",
    ofStore(({ runningExecutions }) => runningExecutions),
  ],
  ["approvals_pending", "What waits for a person", ofStore(({ pendingApprovals }) => pendingApprovals)],
  ["servers", "Servers of the store that live", ({ servers }) => servers.length],
  [
    "audit_up",
    "1: the audit log can be written, and its end is whole",
    ({ audit }) => audit && Number(audit.failure === undefined && audit.tail.problem === undefined),
  ],
  ["audit_last_record_timestamp_seconds", "When the last audit record was written", lastRecordSeconds],
  ["pool_max", "The most sandboxes there may be", ({ pool }) => pool?.maxInstances],
  ["pool_waiting", "Callers who wait for a sandbox", ({ pool }) => pool?.waiting],
  [
    "pool_failing",
    "1: the pool cannot make sandboxes, and tries again later",
    ({ pool }) => pool && Number(pool.nextAttemptAt !== undefined),
  ],
];

function lastRecordSeconds({ audit }: Figures): number | undefined {
  if (audit === undefined || !("checked" in audit.tail) || audit.tail.last === undefined) return undefined;
  return Date.parse(audit.tail.last.timestamp) / 1000;
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
  const gauges = GAUGES.map(([name, help, of]) => ({ series: gauge(name, help), of }));
  const sockets = gauge("websocket_connections", "WebSockets that are open");
  const disks = gauge("disk_free_bytes", "What is left where the state and the audit directory are", "place");
  const diskSizes = gauge("disk_size_bytes", "How large those file systems are", "place");
  const starts = counter("sandbox_starts_total", "Starts of sandboxes", "status");
  const leases = counter("pool_leases_total", "Sandboxes that the pool handed out: ready, or not", "status");
  const failures = counter("pool_failures_total", "What failed in the pool", "kind");
  gauge("build_info", "The version that runs", "version").set({ version }, 1);

  const setPool = ({ pool }: Figures) => {
    if (pool === undefined) return;
    for (const status of POOL_STATUSES) metrics.setPoolSize(status, pool[status]);
    setTotals(leases, { ready: pool.hits, made: pool.misses }, "status");
    setTotals(failures, { failure: pool.failures, timeout: pool.timeouts }, "kind");
  };
  return {
    answered(request, reply) {
      const route = routeOf(request);
      const method = route === NO_ROUTE ? "other" : request.method;
      requests.inc({ method, route, status: String(reply.statusCode) });
      durations.observe({ route }, reply.elapsedTime / 1000);
    },
    async text(figures, openSockets) {
      for (const { series, of } of gauges) {
        const value = of(figures);
        if (value === undefined) series.remove();
        else series.set(value);
      }
      sockets.set(openSockets);
      for (const { place, freeBytes, totalBytes } of figures.disks) {
        disks.set({ place }, freeBytes);
        diskSizes.set({ place }, totalBytes);
      }
      const { succeeded, failed } = figures.sandboxes.starts;
      setTotals(starts, { succeeded, failed }, "status");
      setPool(figures);
      return metrics.text();
    },
  };
}

const NO_ROUTE = "none";

/** As declared; the pages of the reference count as one route. */
function routeOf({ routeOptions: { url } }: FastifyRequest): string {
  if (url === undefined) return NO_ROUTE;
  return url.startsWith("/docs") ? "/docs" : url;
}

/** Sets counters whose totals are counted elsewhere. */
function setTotals(
  series: { reset(): void; inc(labels: Record<string, string>, value: number): void },
  totals: Readonly<Record<string, number>>,
  label: string,
): void {
  series.reset();
  for (const [value, sum] of Object.entries(totals)) series.inc({ [label]: value }, sum);
}
