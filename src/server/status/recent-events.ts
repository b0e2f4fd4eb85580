import type { SandboxConnection } from "../../core/manager/index.js";
import type { Metrics } from "../../core/metrics/index.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { RecentCounts } from "./recent-counts.js";

const MAX_NAME = 64;
const MAX_HOST = 255;
/** One session's hosts must not hide another's. */
const HOSTS_OF_SESSION = 10;
const MAX_HOSTS = 300;
const MINUTE_MS = 60_000;

/** A host that programs of a session were kept from. */
export interface DeniedHost {
  readonly session: string;
  readonly host: string;
  readonly count: number;
}

/** What happened in this server in the last hour, in numbers. It begins with the server. */
export class RecentEvents {
  /** `tool reason`. */
  readonly violations = new RecentCounts();
  /** `allowed`, `denied`, `failed`; `secret`: denied, with a secret that is not for that host. */
  readonly connections = new RecentCounts();
  /** `cpu`, `memory`. */
  readonly alerts = new RecentCounts();
  /** By how they ended. */
  readonly executions = new RecentCounts();
  /** By HTTP status. */
  readonly requests = new RecentCounts();
  readonly #hosts = new RecentCounts(MAX_HOSTS);
  #minute = { at: 0, hosts: new Map<string, number>() };

  /** The same metrics, whose counting is also noted here. */
  alongside(metrics: Metrics): Metrics {
    return {
      ...metrics,
      recordExecution: (execution) => {
        this.executions.add(short(execution.status));
        metrics.recordExecution(execution);
      },
      recordViolation: (violation) => {
        const { tool, reason, count } = violation;
        // Counted as connections.
        if (tool !== "network") this.violations.add(`${short(tool)} ${short(reason)}`, count);
        metrics.recordViolation(violation);
      },
      recordAlert: (resource) => {
        this.alerts.add(resource);
        metrics.recordAlert(resource);
      },
      recordNetwork: (connection) => {
        this.connections.add(connection.verdict, connection.count);
        metrics.recordNetwork(connection);
      },
    };
  }

  /** A connection that a sandbox asked for. */
  noteConnection({ sessionId, host, verdict, secrets = [], count = 1 }: SandboxConnection): void {
    if (verdict !== "denied") return;
    if (secrets.length > 0) this.connections.add("secret", count);
    if (this.#hasRoomFor(sessionId))
      this.#hosts.add(JSON.stringify([sessionId, host.slice(0, MAX_HOST)]), count);
  }

  /** The most denied first. */
  deniedHosts(): DeniedHost[] {
    return this.#hosts.totals().flatMap(([kind, count]) => {
      if (!kind.startsWith("[")) return [];
      const [session, host] = JSON.parse(kind) as [string, string];
      return [{ session, host: escapeUnsafe(host), count }];
    });
  }

  #hasRoomFor(session: string): boolean {
    const at = Math.floor(performance.now() / MINUTE_MS);
    if (this.#minute.at !== at) this.#minute = { at, hosts: new Map() };
    const { hosts } = this.#minute;
    const told = hosts.get(session) ?? 0;
    if (hosts.size >= MAX_HOSTS && told === 0) return false;
    hosts.set(session, told + 1);
    return told < HOSTS_OF_SESSION;
  }
}

/** A name that a caller may have chosen. */
function short(name: string): string {
  return escapeUnsafe(name.slice(0, MAX_NAME)).replaceAll(" ", "_");
}
