import type { ResourceUsage } from "../../backend.js";

/** The parts of a daemon's statistics that we read; daemons leave out what they cannot count. */
export interface Stats {
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: { readonly usage?: number; readonly stats?: Readonly<Record<string, number>> };
  readonly pids_stats?: { readonly current?: number };
}

/** What a container uses, as its daemon counts it; undefined when that has ended. */
export function statsUsage(
  stats: Stats,
): Pick<ResourceUsage, "cpuTimeMs" | "memoryBytes" | "pids"> | undefined {
  const cpu = stats.cpu_stats?.cpu_usage?.total_usage;
  const { usage, stats: kinds = {} } = stats.memory_stats ?? {};
  if (cpu === undefined || usage === undefined) return undefined;
  const kind = (name: string) => kinds[`total_${name}`] ?? kinds[name] ?? 0;
  const pids = stats.pids_stats?.current;
  return {
    cpuTimeMs: cpu / 1e6,
    memoryBytes: Math.max(0, usage - kind("inactive_file") - kind("active_file")),
    ...(pids !== undefined && { pids }),
  };
}
