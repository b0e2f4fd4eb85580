import { constants } from "node:os";
import { SandboxError } from "../../../kit/errors.js";
import type { RunExit } from "../../wire/index.js";
import type { CommandOutcome, Reason } from "../executions/result.js";
import { outcomeOf } from "../executions/run-command.js";
import type { Finished } from "./kernel.js";

/** An interpreter that is gone without a reported end. */
export const GONE: RunExit = {
  exitCode: null,
  signal: constants.signals.SIGKILL,
  cpuTimeMs: 0,
  memoryKb: 0,
  clean: true,
  warm: false,
};

/** Code that came to its end, as its interpreter tells it. */
export function doneOutcome(finished: Finished, durationMs: number, warm: boolean): CommandOutcome {
  return {
    ...outcomeOf({ ...GONE, signal: null, exitCode: finished.exitCode, warm }, durationMs),
    cpuTimeMs: finished.cpuMs,
    memoryKb: finished.memoryKb,
  };
}

/** Its error in one line. */
export function errorLine({ exception, exitCode }: Finished): string {
  if (exception === undefined) return `Exit code ${exitCode}`;
  return exception.value === "" ? exception.name : `${exception.name}: ${exception.value.split("\n")[0]}`;
}

/** Why an interpreter ended, in words. */
export function describeEnd(reason: Reason, exit: RunExit, error: SandboxError | undefined): string {
  if (reason === "memory") return "killed: the sandbox's memory limit was reached";
  if (reason === "timeout") return "killed: its code did not end in time, and not when it was interrupted";
  if (reason === "output-limit")
    return "killed: its code went on printing beyond the limit when it was interrupted";
  if (reason === "cancelled")
    return "killed: its code was cancelled, and did not end when it was interrupted";
  if (error !== undefined) return error.message;
  const { signal, exitCode } = outcomeOf(exit, 0);
  return signal === null ? `its code exited with ${exitCode}` : `ended by signal ${signal}`;
}

export function lost(): SandboxError {
  return new SandboxError("SANDBOX_LOST", "The sandbox ended unexpectedly");
}
