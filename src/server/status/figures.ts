import { getHeapStatistics } from "node:v8";
import type { SandboxStarts } from "../../core/manager/index.js";
import { type AuditTail, checkAuditTail } from "../../guard/audit/index.js";
import { type ErrorCode, toSandboxError } from "../../kit/errors.js";
import { stateDirectoryOf } from "../../kit/state-directory.js";
import type { PoolStatus } from "../../runtime/pool/index.js";
import { type DiskSpace, diskSpace } from "../../runtime/workspace/index.js";
import type { ServerCore } from "../services.js";
import type { ServerRecord, StoreFigures } from "../store/index.js";
import type { LoopDelays } from "./loop-delay.js";

/** What was measured just now, over all orgs. */
export interface Figures {
  readonly at: Date;
  readonly uptimeMs: number;
  /** How far back what is recent goes: an hour, or since the start. */
  readonly recentMs: number;
  /** Requests that run something. */
  readonly running: number;
  readonly sandboxes: {
    readonly running: number;
    readonly starts: SandboxStarts;
    /** Of those that could be measured; undefined: none could. */
    readonly highest: { readonly cpuPercent: number; readonly memoryPercent: number } | undefined;
    readonly measured: number;
    /** Above a threshold now. */
    readonly alerting: number;
  };
  readonly pool: PoolStatus | undefined;
  readonly store: (StoreFigures & { readonly pingMs: number }) | { readonly problem: ErrorCode };
  readonly servers: readonly ServerRecord[];
  readonly audit: AuditFigures | undefined;
  readonly disks: readonly (DiskSpace & { readonly place: "state" | "audit" })[];
  readonly process: {
    readonly memoryBytes: number;
    readonly heapUsedBytes: number;
    readonly heapLimitBytes: number;
    readonly loopDelay: LoopDelays;
  };
}

export interface AuditFigures {
  readonly open: number;
  readonly waiting: number;
  /** Why nothing can be written; undefined: it can. */
  readonly failure: ErrorCode | undefined;
  readonly tail: AuditTail | { readonly problem: string };
}

const HOUR_MS = 3_600_000;

/** Looks at everything once. What cannot be looked at is a problem among the figures, never an error. */
export async function measure(core: ServerCore): Promise<Figures> {
  const { manager, pool, work, sessions, life } = core;
  const uptimeMs = performance.now() - life.startedAt;
  const [store, servers, audit, disks] = await Promise.all([
    measureStore(core),
    core.store.servers.list().catch(() => []),
    measureAudit(core),
    measureDisks(core),
  ]);
  const heap = getHeapStatistics();
  return {
    at: new Date(),
    uptimeMs,
    recentMs: Math.min(HOUR_MS, uptimeMs),
    running: work.size - sessions.ahead.starting,
    sandboxes: { running: manager.sandboxCount, starts: manager.sandboxStarts, ...measureSandboxes(core) },
    pool: pool?.status(),
    store,
    servers,
    audit,
    disks,
    process: {
      memoryBytes: process.memoryUsage.rss(),
      heapUsedBytes: heap.used_heap_size,
      heapLimitBytes: heap.heap_size_limit,
      loopDelay: life.loopDelay.delays,
    },
  };
}

function measureSandboxes({ monitor }: ServerCore) {
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

async function measureStore({ store }: ServerCore): Promise<Figures["store"]> {
  try {
    const from = performance.now();
    await store.ping();
    const pingMs = performance.now() - from;
    return { ...(await store.figures()), pingMs };
  } catch (error) {
    return { problem: toSandboxError(error).code };
  }
}

async function measureAudit({ audit, auditDirectory }: ServerCore): Promise<AuditFigures | undefined> {
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

async function measureDisks({ config, auditDirectory }: ServerCore): Promise<Figures["disks"]> {
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
