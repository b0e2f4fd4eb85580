import { constants } from "node:os";
import type { FileChange } from "../files/change-log.js";
import type { NetworkUse } from "../network/network.js";

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

/** What was printed. */
export interface PrintedOutput {
  readonly stdout: string;
  readonly stderr: string;
  /** The bytes of `stdout`, where they are not all UTF-8; left out: they are those of the text. */
  readonly stdoutBase64?: string;
  readonly stderrBase64?: string;
}

/** What happened. A non-zero exit is a result, not an exception. */
export interface ExecutionResult extends PrintedOutput {
  readonly success: boolean;
  readonly reason: Reason;
  readonly exitCode: number | null;
  /** "SIGKILL", or null when it exited. */
  readonly signal: string | null;
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
  /** The same with its kind, sorted by path. A renamed file is one deleted and one created. */
  readonly fileChanges: readonly FileChange[];
  /** Left out: it was not requested, or this backend cannot tell. */
  readonly filesRead?: readonly string[];
  /** True when more was read than is listed. */
  readonly filesReadTruncated?: boolean;
  /** True when more was written or deleted than is listed. */
  readonly filesWrittenTruncated?: boolean;
  /** Left out: the sandbox had no egress. What ran at the same time in this sandbox is counted, too. */
  readonly network?: NetworkUse;
  /** Default limits that this host cannot enforce; left out: memory is limited, and the processor shared out equally. */
  readonly limitsNotEnforced?: readonly string[];
  /** True when an interpreter that was already started ran it. */
  readonly warm: boolean;
  /** One line for a person when it did not succeed: "Execution timeout (30s)". */
  readonly error?: string;
}

/** How a command ended, before it is put into words. */
export interface CommandOutcome extends PrintedOutput {
  readonly reason: Reason;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly truncated: boolean;
  readonly durationMs: number;
  readonly cpuTimeMs: number;
  readonly memoryKb: number;
  /** False: something of it is still alive, and the sandbox must go. */
  readonly clean: boolean;
  readonly warm: boolean;
}

interface ResultContext {
  readonly sandboxType: string;
  readonly sandboxId: string;
  readonly sessionId: string;
  readonly fileChanges: readonly FileChange[];
  readonly filesRead?: readonly string[];
  readonly filesReadTruncated?: boolean;
  readonly filesWrittenTruncated?: boolean;
  readonly network?: NetworkUse;
  readonly limitsNotEnforced?: readonly string[];
  readonly timeoutMs: number;
}

/** Puts an outcome and where it happened together. */
export function createResult(outcome: CommandOutcome, context: ResultContext): ExecutionResult {
  const { stdout, stderr, stdoutBase64, stderrBase64 } = outcome;
  const success = outcome.reason === "exited" && outcome.exitCode === 0;
  const { timeoutMs, fileChanges, sandboxType, sandboxId, sessionId, ...more } = context;
  const paths = (isGone: boolean) =>
    fileChanges.filter(({ change }) => (change === "deleted") === isGone).map(({ path }) => path);
  return {
    success,
    reason: outcome.reason,
    exitCode: outcome.exitCode,
    signal: outcome.signal,
    stdout,
    stderr,
    ...(stdoutBase64 !== undefined && { stdoutBase64 }),
    ...(stderrBase64 !== undefined && { stderrBase64 }),
    truncated: outcome.truncated,
    executionTimeMs: round(outcome.durationMs),
    cpuTimeMs: round(outcome.cpuTimeMs),
    memoryUsedMb: round(outcome.memoryKb / 1024),
    sandboxType,
    sandboxId,
    sessionId,
    filesWritten: paths(false),
    filesDeleted: paths(true),
    fileChanges,
    ...more,
    warm: outcome.warm,
    ...(!success && { error: describeFailure(outcome, timeoutMs) }),
  };
}

/** One output of a result as bytes. */
export function outputBytes(result: PrintedOutput, type: "stdout" | "stderr"): Buffer {
  const base64 = result[`${type}Base64`];
  return base64 === undefined ? Buffer.from(result[type]) : Buffer.from(base64, "base64");
}

function describeFailure(outcome: CommandOutcome, timeoutMs: number): string {
  switch (outcome.reason) {
    case "timeout":
      return `Execution timeout (${timeoutMs / 1000}s)`;
    case "memory":
      return "Killed: the sandbox's memory limit was reached";
    case "output-limit":
      return "Killed: the output limit was reached";
    case "cancelled":
      return "Cancelled";
    case "signaled":
      return `Ended by ${outcome.signal}`;
    default:
      return `Exit code ${outcome.exitCode}`;
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
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
