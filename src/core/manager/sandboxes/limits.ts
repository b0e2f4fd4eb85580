import { SandboxError } from "../../../kit/errors.js";
import type { Capabilities, Limits } from "../../../runtime/backends/index.js";
import { DEFAULT_LIMITS } from "../../config/index.js";

/** Which capability each limit takes. */
const NEEDS: Readonly<Record<keyof Limits, keyof Capabilities | undefined>> = {
  memoryMb: "memoryLimit",
  cpus: "cpuLimit",
  pids: "pidsLimit",
  openFiles: "openFilesLimit",
  fileSizeMb: "fileSizeLimit",
  workspaceMb: "workspaceLimit",
  workspaceInodes: "workspaceLimit",
  tmpMb: undefined,
};

/** Below these nothing can run. */
const LEAST: Readonly<Record<keyof Limits, number>> = {
  memoryMb: 4,
  cpus: 0.01,
  pids: 4,
  openFiles: 16,
  fileSizeMb: 0.001,
  workspaceMb: 1,
  workspaceInodes: 16,
  tmpMb: 0.01,
};

/** What to enforce: every limit that was asked for, or an error; defaults where the backend can enforce them. */
export function effectiveLimits(requested: Limits, capabilities: Capabilities, backend: string): Limits {
  const limits: { -readonly [Name in keyof Limits]: Limits[Name] } = {};
  for (const name of Object.keys(NEEDS) as (keyof Limits)[]) {
    const needed = NEEDS[name];
    const enforceable = needed === undefined ? capabilities.isolates : capabilities[needed] === true;
    const asked = requested[name];
    if (asked !== undefined && !enforceable) throw unenforceable(name, backend);
    const value = asked ?? (enforceable ? (DEFAULT_LIMITS as Limits)[name] : undefined);
    if (value !== undefined) limits[name] = value;
  }
  return limits;
}

/**
 * What a result says of them where code is isolated, and one program could take all of the host's memory, processor time
 * or disk from the others.
 */
export function unenforcedDefaults(capabilities: Capabilities): { limitsNotEnforced?: string[] } {
  const { isolates, memoryLimit, cpuLimit, workspaceLimit } = capabilities;
  const limits = { memory: memoryLimit, cpu: cpuLimit, workspace: workspaceLimit };
  const missing = Object.entries(limits).flatMap(([name, isEnforced]) => (isEnforced ? [] : [name]));
  return isolates && missing.length > 0 ? { limitsNotEnforced: missing } : {};
}

/** Refuses values that mean nothing. */
export function checkLimits(limits: Limits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(NEEDS, name)) {
      throw new SandboxError("INVALID_ARGUMENT", `There is no limit named ${JSON.stringify(name)}`, {
        hint: `Known limits: ${Object.keys(NEEDS).join(", ")}.`,
      });
    }
    if (value === undefined) continue;
    const least = LEAST[name as keyof Limits];
    if (typeof value !== "number" || !Number.isFinite(value) || value < least) {
      throw new SandboxError(
        "INVALID_ARGUMENT",
        `limits.${name} must be at least ${least}, not ${String(value)}`,
        {
          hint: "With less no program can start.",
        },
      );
    }
  }
}

/** A running sandbox keeps the limits it was started with; other ones are refused, not ignored. */
export function checkSameLimits(running: Limits, limits: Limits | undefined): void {
  if (limits === undefined) return;
  const differs = (Object.keys(limits) as (keyof Limits)[]).some((name) => limits[name] !== running[name]);
  if (!differs) return;
  throw new SandboxError("INVALID_ARGUMENT", "This session's sandbox runs with other limits", {
    hint: "Close the session first: its next start has the new limits.",
  });
}

/** True when both ask for the same limits. */
export function sameLimits(one: Limits, other: Limits = {}): boolean {
  return (Object.keys(NEEDS) as (keyof Limits)[]).every((name) => one[name] === other[name]);
}

/** Of each limit the smaller one. */
export function strictestLimits(one: Limits, other: Limits): Limits {
  const limits: { -readonly [Name in keyof Limits]: Limits[Name] } = { ...one };
  for (const name of Object.keys(NEEDS) as (keyof Limits)[]) {
    const [a, b] = [one[name], other[name]];
    if (b !== undefined) limits[name] = a === undefined ? b : Math.min(a, b);
  }
  return limits;
}

function unenforceable(name: keyof Limits, backend: string): SandboxError {
  return new SandboxError(
    "LIMIT_UNENFORCEABLE",
    `The backend ${backend} cannot enforce limits.${name.replace(/Mb$/, "")} on this host`,
    {
      hint: "skerry doctor says why and what would help. Leave the limit out to run without it.",
    },
  );
}
