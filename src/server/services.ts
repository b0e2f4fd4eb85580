import type { Config } from "../core/config/index.js";
import type { SandboxManager } from "../core/manager/index.js";
import type { Metrics, SandboxMonitor } from "../core/metrics/index.js";
import type { AuditLogger } from "../guard/audit/index.js";
import type { PoolManager } from "../runtime/pool/index.js";
import type { ApprovalService } from "./approvals/index.js";
import type { FencedLease } from "./cluster/index.js";
import type { ExecutionLog } from "./executions/index.js";
import type { AccessRows, App } from "./http/index.js";
import type { LiveCallService } from "./live/index.js";
import type { PortService } from "./ports/index.js";
import type { SessionService, TaskRegistry } from "./sessions/index.js";
import type { RecentEvents, ServerInfo, ServerMetrics } from "./status/index.js";
import type { Store } from "./store/index.js";

/** What `createServer` is given. The caller opens these, and closes them. */
export interface ServerDependencies {
  readonly config: Config;
  /** Its `confirmation` is `approvals`, where calls need confirmation at all. */
  readonly manager: SandboxManager;
  readonly store: Store;
  /** While it is held, no other server may end what this server has. */
  readonly lease: FencedLease;
  readonly approvals: ApprovalService;
  /** Records what does not go through the manager. */
  readonly audit?: AuditLogger | undefined;
  /** Left out: there are no audit records to query. */
  readonly auditDirectory?: string | undefined;
  readonly metrics?: Metrics | undefined;
  /** Samples the manager's sandboxes. */
  readonly monitor?: SandboxMonitor | undefined;
  readonly pool?: PoolManager | undefined;
  /** Collects the manager's recent metrics and connections. Left out: an empty one. */
  readonly recent?: RecentEvents | undefined;
  /** True: a policy decides about calls. */
  readonly hasPolicy?: boolean | undefined;
}

/** What every protocol (the HTTP routes, MCP) is built on. */
export interface Services extends ServerDependencies {
  readonly sessions: SessionService;
  readonly tasks: TaskRegistry;
  readonly recent: RecentEvents;
  readonly hasPolicy: boolean;
  readonly info: ServerInfo;
  /** Undefined: the server has no metrics. */
  readonly serverMetrics: ServerMetrics | undefined;
  readonly live: LiveCallService;
  readonly ports: PortService;
  readonly executions: ExecutionLog;
  /** True: the server takes no new work. */
  readonly isStopping: () => boolean;
}

/** A way to ask for the services: our own API, MCP, or another system's API. Each is one folder, listed in protocols.ts. */
export interface Protocol {
  readonly access: AccessRows;
  /** Every file of routes, with its tag in the reference. */
  readonly routes: readonly (readonly [tag: string, add: (app: App, services: Services) => void])[];
}
