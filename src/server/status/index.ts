export { type Check, checkServer } from "./checks.js";
export type { AuditFigures, Figures } from "./figures.js";
export { RecentEvents } from "./recent-events.js";
export { ServerInfo } from "./server-info.js";
export { createServerMetrics, type ServerMetrics } from "./server-metrics.js";
