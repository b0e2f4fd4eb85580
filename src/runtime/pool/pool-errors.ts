import { SandboxError } from "../../kit/errors.js";
import type { PoolStatus } from "./pool-lease.js";

export function cancelled(cause: unknown): SandboxError {
  return new SandboxError("CANCELLED", "The caller no longer waits for a sandbox", { cause });
}

export function stopped(): SandboxError {
  return new SandboxError("SANDBOX_NOT_RUNNING", "This pool has been stopped", {
    hint: "Make a new PoolManager.",
  });
}

export function unhealthy(): SandboxError {
  return new SandboxError("SANDBOX_LOST", "A prepared sandbox failed its health check");
}

export function endedByItself(): SandboxError {
  return new SandboxError("SANDBOX_LOST", "A sandbox of the pool ended by itself");
}

export function tookTooLong(what: string, ms: number): SandboxError {
  return new SandboxError("SANDBOX_START_FAILED", `${what} took longer than ${ms / 1000} s`);
}

export function exhausted(waitedMs: number, status: PoolStatus): SandboxError {
  const { busy, acquiring, resetting, leaving, maxInstances, lastFailure } = status;
  const others = [
    [acquiring, "being started"],
    [resetting, "being reset"],
    [leaving, "being removed"],
  ].flatMap(([count, what]) => (count === 0 ? [] : [`, ${count} ${what}`]));
  return new SandboxError(
    "POOL_EXHAUSTED",
    `No sandbox was free within ${waitedMs / 1000} s: of ${maxInstances}, ${busy} in use${others.join("")}`,
    {
      hint: `${busy > 0 ? "Release some, or raise" : "Raise"} maxInstances or acquireTimeoutMs of the pool.`,
      cause: lastFailure,
    },
  );
}
