import type { Metric, Registry } from "prom-client";
import { SandboxError } from "../../kit/errors.js";

/** From a warm interpreter's millisecond to the default timeout of five minutes. */
const DURATION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
] as const;

/** Registers every series, or finds those that already stand in the registry. */
export function createSeries(client: typeof import("prom-client"), registry: Registry) {
  const { Counter, Gauge, Histogram } = client;
  const registers = [registry];
  const shared = <M extends Metric>(type: new (...args: never[]) => M, name: string, make: () => M): M => {
    const existing: unknown = registry.getSingleMetric(name);
    if (existing === undefined) return make();
    if (existing instanceof type) return existing;
    throw new SandboxError("INVALID_ARGUMENT", `The registry has a metric ${name} of another type`, {
      hint: "Give the metrics a registry of their own.",
    });
  };
  const counter = <T extends string>(name: string, help: string, ...labelNames: readonly T[]) =>
    shared(Counter<T>, name, () => new Counter({ name, help, labelNames, registers }));
  const gauge = <T extends string>(name: string, help: string, ...labelNames: readonly T[]) =>
    shared(Gauge<T>, name, () => new Gauge({ name, help, labelNames, registers }));
  const histogram = <T extends string>(name: string, help: string, ...labelNames: readonly T[]) => {
    const buckets = [...DURATION_BUCKETS_SECONDS];
    return shared(
      Histogram<T>,
      name,
      () => new Histogram({ name, help, labelNames: [...labelNames], buckets, registers }),
    );
  };
  return {
    executions: counter(
      "sandbox_executions_total",
      "Executions that were asked for",
      "tool",
      "language",
      "status",
    ),
    durations: histogram("sandbox_execution_duration_seconds", "From the call to its result", "tool"),
    // A gauge, though it only rises: a sandbox's series ends with it, and it is read, not added up.
    memory: gauge("sandbox_memory_usage_bytes", "Memory that a running sandbox uses", "sandbox_id"),
    cpu: gauge("sandbox_cpu_usage_seconds", "CPU time that a running sandbox has used", "sandbox_id"),
    pool: gauge("sandbox_pool_size", "Prepared sandboxes", "status"),
    violations: counter("sandbox_policy_violations_total", "Calls that a policy refused", "tool", "reason"),
    connections: counter("sandbox_network_connections_total", "Connections asked for", "verdict"),
    networkBytes: counter("sandbox_network_bytes_total", "Bytes to and from other hosts", "direction"),
    sandboxNetwork: gauge(
      "sandbox_network_usage_bytes",
      "Bytes that a running sandbox has sent and received",
      "sandbox_id",
      "direction",
    ),
    alerts: counter("sandbox_resource_alerts_total", "Sandboxes that came near a limit", "resource"),
  };
}
