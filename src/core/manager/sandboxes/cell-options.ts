import { SandboxError } from "../../../kit/errors.js";
import type { Capabilities, Limits } from "../../../runtime/backends/index.js";
import type { CellSettings } from "../../../runtime/sandbox/index.js";
import type { CellOptions } from "../manager-options.js";

const MIB = 1024 * 1024;
const DEFAULTS = { pids: 64, workspaceMb: 64, tmpMb: 64, workers: 2 } as const;
/** The process outside, and the first one inside. */
const OWN_PROCESSES = 2;
const FILES_PER_MB = 256;
const MAX_WORKERS = 64;

/** What a sandbox with cells is told; undefined: it was not asked for any. Throws for what cannot be. */
export function cellSettings(
  asked: boolean | CellOptions | undefined,
  limits: Limits,
  { cells }: Capabilities,
  backend: string,
): CellSettings | undefined {
  if (asked === undefined || asked === false) return undefined;
  const options = asked === true ? {} : asked;
  checkCellOptions(options);
  if (cells !== true) {
    throw new SandboxError("UNSUPPORTED", `The backend ${backend} has no cells`, {
      hint: "Use a backend that can make them (skerry doctor -v shows which), or run each program in a sandbox of its own.",
    });
  }
  const { pids, workers, ...given } = { ...DEFAULTS, ...options };
  const workspaceMb = atMost(given.workspaceMb, limits.workspaceMb);
  const tmpMb = atMost(given.tmpMb, limits.tmpMb);
  const memoryMb = options.memoryMb ?? limits.memoryMb;
  return {
    limits: {
      workspaceBytes: workspaceMb * MIB,
      workspaceFiles: atMost(Math.max(64, Math.round(workspaceMb * FILES_PER_MB)), limits.workspaceInodes),
      temporaryBytes: tmpMb * MIB,
      processes: pids + OWN_PROCESSES,
      ...(memoryMb !== undefined && { memoryBytes: memoryMb * MIB }),
      ...(limits.fileSizeMb !== undefined && { fileBytes: limits.fileSizeMb * MIB }),
    },
    preload: options.preload ?? [],
    standbys: workers,
  };
}

/** No cell has more than its sandbox. */
function atMost(value: number, limit: number | undefined): number {
  return limit === undefined ? value : Math.min(value, limit);
}

const LEAST: Readonly<Record<string, number>> = {
  memoryMb: 16,
  pids: 1,
  workspaceMb: 0.1,
  tmpMb: 0.1,
  workers: 1,
};

export function checkCellOptions(options: CellOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (name === "preload") {
      if (Array.isArray(value) && value.every((each) => typeof each === "string")) continue;
    } else if (typeof value === "number" && value >= (LEAST[name] ?? Number.POSITIVE_INFINITY)) {
      if (name !== "workers" || (Number.isInteger(value) && value <= MAX_WORKERS)) continue;
    }
    throw new SandboxError("INVALID_ARGUMENT", `cells.${name} cannot be ${JSON.stringify(value)}`, {
      hint: `A cell takes ${[...Object.keys(LEAST), "preload"].join(", ")}.`,
    });
  }
}
