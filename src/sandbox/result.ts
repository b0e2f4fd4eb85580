import { constants } from "node:os";

/** Why an execution ended. */
export const REASONS = [
  "exited",
  "signaled",
  "timeout",
  "memory",
  "output-limit",
  "cancelled",
  "denied",
  "rejected",
] as const;
export type Reason = (typeof REASONS)[number];

/** What happened. A non-zero exit is a result, not an exception. */
export interface ExecutionResult {
  readonly success: boolean;
  readonly reason: Reason;
  readonly exitCode: number | null;
  /** "SIGKILL", or null when it exited. */
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** True when output was cut. */
  readonly truncated: boolean;
  readonly executionTimeMs: number;
  readonly cpuTimeMs: number;
  readonly memoryUsedMb: number;
  /** The backend's name. */
  readonly sandboxType: string;
  readonly sandboxId: string;
  readonly sessionId: string;
  /** Created or modified, relative to the workspace, sorted. */
  readonly filesWritten: readonly string[];
  readonly filesDeleted: readonly string[];
  /** One line for a person when it did not succeed: "Execution timeout (30s)". */
  readonly error?: string;
}

/** The exit status a command line gives for a result. */
export function exitStatusOf(result: ExecutionResult): number {
  switch (result.reason) {
    case "timeout":
      return 124;
    case "memory":
      return 137;
    case "denied":
    case "rejected":
      return 77;
    case "cancelled":
      return 130;
    default:
      return result.exitCode ?? 128 + (signalNumber(result.signal) ?? 0);
  }
}

function signalNumber(name: string | null): number | undefined {
  if (name === null) return undefined;
  return (constants.signals as Record<string, number>)[name];
}
