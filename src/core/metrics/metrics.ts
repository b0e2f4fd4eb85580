import type { Registry } from "prom-client";
import type { ResourceUsage } from "../../runtime/backends/index.js";
import {
  ALERT_RESOURCES,
  type AlertResource,
  KNOWN_STATUSES,
  KNOWN_TOOLS,
  KNOWN_VIOLATIONS,
  LabelSet,
  languageLabel,
  NETWORK_DIRECTIONS,
  NETWORK_VERDICTS,
  type NetworkVerdict,
  POOL_STATUSES,
} from "./labels.js";
import { createSeries } from "./series.js";

const MAX_ADDED_TOOLS = 100;
const MAX_ADDED_REASONS = 50;
const MAX_SANDBOXES = 1000;

export interface MetricsOptions {
  /** Where to register; left out: a registry of its own. Two that share one share their series. */
  readonly registry?: Registry;
  /** Tools beyond the known ones that get a series of their own, such as those a policy names. */
  readonly tools?: Iterable<string>;
  /** Also memory, CPU and event loop of this process. */
  readonly processMetrics?: boolean;
}

export interface ExecutionMetric {
  readonly tool: string;
  readonly language?: string | undefined;
  /** `success`, `error`, or why it ended. */
  readonly status: string;
  readonly durationMs: number;
}

export interface ViolationMetric {
  readonly tool: string;
  readonly reason: string;
  /** How many it stands for; left out: one. */
  readonly count?: number | undefined;
}

export type SandboxUsage = Pick<
  ResourceUsage,
  "memoryBytes" | "cpuTimeMs" | "networkSentBytes" | "networkReceivedBytes"
>;

export interface NetworkMetric {
  readonly verdict: NetworkVerdict;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** How many connections it stands for; left out: one. */
  readonly count?: number | undefined;
}

/** What was counted. Recording never throws; an unknown value of a label is counted as `other`. */
export interface Metrics {
  readonly registry: Registry;
  readonly contentType: string;
  /** Gives a tool a series of its own; false when there is no room for more. */
  addTool(name: string): boolean;
  /** The same for a reason of a violation. */
  addReason(name: string): boolean;
  recordExecution(execution: ExecutionMetric): void;
  recordViolation(violation: ViolationMetric): void;
  recordAlert(resource: AlertResource): void;
  recordNetwork(connection: NetworkMetric): void;
  setPoolSize(status: string, size: number): void;
  /** A running sandbox's series; at most a thousand sandboxes have one. */
  setSandboxUsage(id: string, usage: SandboxUsage): void;
  /** Removes them: the sandbox has ended. */
  removeSandbox(id: string): void;
  /** Everything in Prometheus' text format. */
  text(): Promise<string>;
}

/** Makes the metrics and loads the library for them, which costs more than a program's start may. */
export async function createMetrics(options: MetricsOptions = {}): Promise<Metrics> {
  const client = await import("prom-client");
  const registry = options.registry ?? new client.Registry();
  const series = createSeries(client, registry);
  const hasProcessMetrics = registry.getSingleMetric("process_start_time_seconds") !== undefined;
  if (options.processMetrics === true && !hasProcessMetrics) {
    client.collectDefaultMetrics({ register: registry });
  }

  const tools = new LabelSet(KNOWN_TOOLS, MAX_ADDED_TOOLS);
  const reasons = new LabelSet(KNOWN_VIOLATIONS, MAX_ADDED_REASONS);
  const statuses = new LabelSet(KNOWN_STATUSES);
  const poolStatuses = new LabelSet(POOL_STATUSES);
  const sandboxes = new Set<string>();
  for (const tool of options.tools ?? []) tools.add(tool);
  // A counter that starts at one hides its first increase from a rate.
  for (const resource of ALERT_RESOURCES) series.alerts.inc({ resource }, 0);
  for (const verdict of NETWORK_VERDICTS) series.connections.inc({ verdict }, 0);
  for (const direction of NETWORK_DIRECTIONS) series.networkBytes.inc({ direction }, 0);

  return {
    registry,
    contentType: registry.contentType,
    addTool: (name) => tools.add(name),
    addReason: (name) => reasons.add(name),
    recordExecution({ tool, language, status, durationMs }) {
      const label = tools.of(tool);
      series.executions.inc({ tool: label, language: languageLabel(language), status: statuses.of(status) });
      if (Number.isFinite(durationMs))
        series.durations.observe({ tool: label }, Math.max(0, durationMs) / 1000);
    },
    recordViolation({ tool, reason, count = 1 }) {
      series.violations.inc({ tool: tools.of(tool), reason: reasons.of(reason) }, count);
    },
    recordAlert(resource) {
      series.alerts.inc({ resource });
    },
    recordNetwork({ verdict, bytesSent, bytesReceived, count = 1 }) {
      series.connections.inc({ verdict }, count);
      series.networkBytes.inc({ direction: "sent" }, bytesSent);
      series.networkBytes.inc({ direction: "received" }, bytesReceived);
    },
    setPoolSize(status, size) {
      if (Number.isFinite(size)) series.pool.set({ status: poolStatuses.of(status) }, size);
    },
    setSandboxUsage(id, { memoryBytes, cpuTimeMs, networkSentBytes, networkReceivedBytes }) {
      if (!Number.isFinite(memoryBytes) || !Number.isFinite(cpuTimeMs)) return;
      if (!sandboxes.has(id) && sandboxes.size >= MAX_SANDBOXES) return;
      sandboxes.add(id);
      series.memory.set({ sandbox_id: id }, memoryBytes);
      series.cpu.set({ sandbox_id: id }, cpuTimeMs / 1000);
      if (networkSentBytes !== undefined)
        series.sandboxNetwork.set({ sandbox_id: id, direction: "sent" }, networkSentBytes);
      if (networkReceivedBytes !== undefined)
        series.sandboxNetwork.set({ sandbox_id: id, direction: "received" }, networkReceivedBytes);
    },
    removeSandbox(id) {
      if (!sandboxes.delete(id)) return;
      series.memory.remove({ sandbox_id: id });
      series.cpu.remove({ sandbox_id: id });
      for (const direction of NETWORK_DIRECTIONS) series.sandboxNetwork.remove({ sandbox_id: id, direction });
    },
    text: () => registry.metrics(),
  };
}
