export { type AlertResource, type NetworkVerdict, POOL_STATUSES } from "./labels.js";
export {
  createMetrics,
  type ExecutionMetric,
  type Metrics,
  type MetricsOptions,
  type NetworkMetric,
  type SandboxUsage,
  type ViolationMetric,
} from "./metrics.js";
export {
  type AlertThresholds,
  type ResourceAlert,
  SandboxMonitor,
  type SandboxMonitorOptions,
  type SandboxSample,
  type Watched,
} from "./monitor.js";
