import type { Config } from "../core/config/index.js";
import type { SandboxManager } from "../core/manager/index.js";
import type { Metrics, SandboxMonitor } from "../core/metrics/index.js";
import type { AuditLogger } from "../guard/audit/index.js";
import type { PoolManager } from "../runtime/pool/index.js";
import type { ApprovalDesk } from "./approvals/approval-service.js";
import type { ServerPlace } from "./cluster/fenced-lease.js";
import type { ExecutionLog } from "./executions/execution-log.js";
import type { LiveDesk } from "./live/live-call-service.js";
import type { PortDesk } from "./ports/port-service.js";
import type { SessionDesk } from "./sessions/session-service.js";
import type { RunningWork } from "./sessions/task-registry.js";
import type { RecentEvents } from "./status/recent-events.js";
import type { ServerLife } from "./status/server-info.js";
import type { ServerMetrics } from "./status/server-metrics.js";
import type { Lease, Store } from "./store/index.js";

/** What a server stands on. Whoever made these closes them. */
export interface ServerParts {
  readonly config: Config;
  /** Its `confirmation` is the desk, where anybody is asked at all. */
  readonly manager: SandboxManager;
  readonly store: Store;
  /** Of this run of this server. */
  readonly lease: Lease;
  /** As long as it is held, what this server has is its own. */
  readonly place: ServerPlace;
  readonly approvals: ApprovalDesk;
  /** What is done past the manager is written here. */
  readonly audit?: AuditLogger | undefined;
  /** Left out: there is no record to ask. */
  readonly auditDirectory?: string | undefined;
  readonly metrics?: Metrics | undefined;
  /** Watches the manager's sandboxes. */
  readonly monitor?: SandboxMonitor | undefined;
  readonly pool?: PoolManager | undefined;
  /** What the manager's metrics and connections are noted in. Left out: nothing is. */
  readonly recent?: RecentEvents | undefined;
  /** A policy decides about calls. */
  readonly hasPolicy?: boolean | undefined;
}

/** What every routes file is given. */
export interface ServerCore extends ServerParts {
  readonly sessions: SessionDesk;
  readonly work: RunningWork;
  readonly recent: RecentEvents;
  readonly hasPolicy: boolean;
  readonly life: ServerLife;
  /** Left out: nothing is counted. */
  readonly serverMetrics: ServerMetrics | undefined;
  readonly live: LiveDesk;
  readonly ports: PortDesk;
  readonly executions: ExecutionLog;
  /** True: no new work is taken. */
  readonly isStopping: () => boolean;
}
