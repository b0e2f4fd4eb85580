import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Limits } from "../backend.js";
import type { GuestRuntime } from "../guest-runtime.js";

/**
 * A file for /proc/meminfo that has a sandbox's limit as the machine's memory: `free` and whoever sizes something by it would see
 * the host's. It does not change: what is in use stands in the result of an execution.
 */
export function meminfoFile({ directory }: GuestRuntime, memoryMb: number): string {
  const kilobytes = Math.floor(memoryMb * 1024);
  // In the runtime, which every backend shows: srt shows nothing beside it.
  const files = join(directory, "meminfo");
  const path = join(files, String(kilobytes));
  if (existsSync(path)) return path;
  // Which limits others have is nobody's business.
  if (mkdirSync(files, { recursive: true }) !== undefined) chmodSync(files, 0o711);
  const lines = Object.entries({
    MemTotal: kilobytes,
    MemFree: kilobytes,
    MemAvailable: kilobytes,
    ...Object.fromEntries(UNUSED.map((name) => [name, 0])),
  });
  const text = lines
    .map(([name, value]) => `${`${name}:`.padEnd(16)}${String(value).padStart(8)} kB\n`)
    .join("");
  // Others may do the same at this moment; whichever comes last is the same.
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, text);
  chmodSync(temporary, 0o444);
  renameSync(temporary, path);
  return path;
}

const UNUSED = [
  ...["Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree", "Dirty"],
  ...["Writeback", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable", "SUnreclaim"],
];

/** What `nproc`, OpenMP and Python take for the number of processors: a quota does not show in their list. */
export function processorVariables({ cpus }: Limits): Readonly<Record<string, string>> {
  if (cpus === undefined) return {};
  const count = String(Math.max(1, Math.ceil(cpus)));
  return { OMP_NUM_THREADS: count, PYTHON_CPU_COUNT: count };
}
