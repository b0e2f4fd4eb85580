import { getHeapStatistics } from "node:v8";
import { checkAuditTail } from "../../guard/audit/index.js";
import { toSandboxError } from "../../kit/errors.js";
import { stateDirectoryOf } from "../../kit/state-directory.js";
import { diskSpace } from "../../runtime/workspace/index.js";
import type { Services } from "../services.js";
import type { AuditFigures, Figures } from "../status/index.js";

const HOUR_MS = 3_600_000;

/** Looks at everything once. What cannot be looked at is a problem among the figures, never an error. */
export async function measure(services: Services): Promise<Figures> {
  const { manager, pool, tasks, sessions, info } = services;
  const uptimeMs = performance.now() - info.startedAt;
  const [store, servers, audit, disks] = await Promise.all([
    measureStore(services),
    services.store.servers.list().catch(() => []),
    measureAudit(services),
    measureDisks(services),
  ]);
  const heap = getHeapStatistics();
  return {
    at: new Date(),
    uptimeMs,
    recentMs: Math.min(HOUR_MS, uptimeMs),
    running: tasks.size - sessions.prewarmer.starting,
    sandboxes: {
      running: manager.sandboxCount,
      starts: manager.sandboxStarts,
      ...measureSandboxes(services),
    },
    pool: pool?.status(),
    store,
    servers,
    audit,
    disks,
    process: {
      memoryBytes: process.memoryUsage.rss(),
      heapUsedBytes: heap.used_heap_size,
      heapLimitBytes: heap.heap_size_limit,
      loopDelay: info.loopDelay.delays,
    },
  };
}

function measureSandboxes({ monitor }: Services) {
  const samples = monitor?.snapshot() ?? [];
  const most = (name: "cpuPercent" | "memoryPercent") =>
    Math.max(0, ...samples.map((sample) => sample[name] ?? 0));
  return {
    measured: samples.length,
    highest:
      samples.length === 0
        ? undefined
        : { cpuPercent: most("cpuPercent"), memoryPercent: most("memoryPercent") },
    alerting: samples.filter(({ alerts }) => alerts.length > 0).length,
  };
}

async function measureStore({ store }: Services): Promise<Figures["store"]> {
  try {
    const from = performance.now();
    await store.ping();
    const pingMs = performance.now() - from;
    return { ...(await store.figures()), pingMs };
  } catch (error) {
    return { problem: toSandboxError(error).code };
  }
}

async function measureAudit({ audit, auditDirectory }: Services): Promise<AuditFigures | undefined> {
  if (audit === undefined || auditDirectory === undefined) return undefined;
  // Takes the lock and looks where the chain ends, as every record does.
  const failed = await audit.open().then(
    () => undefined,
    (error: unknown) => toSandboxError(error).code,
  );
  const { open, waiting, failure } = audit.health;
  const tail = await checkAuditTail(auditDirectory).catch((error: unknown) => ({
    problem: `the log cannot be read (${toSandboxError(error).code})`,
  }));
  return { open, waiting, failure: failed ?? failure?.code, tail };
}

async function measureDisks({ config, auditDirectory }: Services): Promise<Figures["disks"]> {
  const places = { state: stateDirectoryOf(config.sandbox), audit: auditDirectory };
  const found = await Promise.all(
    Object.entries(places).map(async ([place, path]) =>
      path === undefined
        ? []
        : diskSpace(path).then(
            (space) => [{ ...space, place: place as "state" | "audit" }],
            () => [],
          ),
    ),
  );
  return found.flat();
}
