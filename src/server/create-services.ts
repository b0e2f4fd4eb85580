import type { FastifyBaseLogger } from "fastify";
import { packageVersion } from "../kit/package-root.js";
import { DeadServerReaper } from "./cluster/index.js";
import { ExecutionLog } from "./executions/index.js";
import { logError } from "./http/index.js";
import { LiveCallService } from "./live/index.js";
import { PortService } from "./ports/index.js";
import type { ServerDependencies, Services } from "./services.js";
import { SessionService, TaskRegistry } from "./sessions/index.js";
import { createServerMetrics, RecentEvents, ServerInfo } from "./status/index.js";

/** Makes the services, and the two functions that only their owner calls. */
export async function createServices(
  dependencies: ServerDependencies,
  log: FastifyBaseLogger,
  openSockets: () => number,
): Promise<{
  readonly services: Services;
  /** From now on nothing new starts; processes are asked to end, terminals and tunnels are closed. */
  readonly refuseWork: () => void;
  /** Ends what dead servers had. */
  readonly reapDead: () => Promise<void>;
}> {
  const { config, store, lease, audit } = dependencies;
  const onFailure = (error: unknown, what: string) => {
    log.warn({ what });
    logError({ log }, error);
  };
  const reaper = new DeadServerReaper({
    store,
    lease,
    audit,
    onEnded: (counts) => log.warn(counts, "other servers are dead: what they had has ended"),
    onFailure: (error) => logError({ log }, error),
  });
  const tasks = new TaskRegistry();
  const sessions: SessionService = new SessionService({
    ...dependencies,
    config: config.server.sessions,
    tasks,
    reapDead: () => reaper.reap(),
    onFailure,
    onCleaned: (session) => {
      live.forgetSession(session);
      ports.forgetSession(session);
    },
  });
  const executions = new ExecutionLog({ store, lease, onFailure });
  const live = new LiveCallService(config.server, { ...dependencies, sessions, executions, onFailure });
  const ports = new PortService({ ...dependencies, sessions });
  const version = packageVersion();
  const info = new ServerInfo(version, openSockets);
  const serverMetrics = dependencies.metrics && (await createServerMetrics(dependencies.metrics, version));
  let isStopping = false;
  const services = {
    ...dependencies,
    ...{ tasks, sessions, executions, live, ports, info, serverMetrics },
    recent: dependencies.recent ?? new RecentEvents(),
    hasPolicy: dependencies.hasPolicy === true,
    isStopping: () => isStopping,
  };
  const refuseWork = () => {
    isStopping = true;
    sessions.prewarmer.stop();
    live.stop();
    ports.stop();
  };
  return { services, refuseWork, reapDead: () => reaper.reap() };
}
