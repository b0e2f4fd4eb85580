import { SandboxError } from "../errors.js";
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
  return new SandboxError("SANDBOX_LOST", "A prepared sandbox did not answer as a healthy one does");
}

export function endedByItself(): SandboxError {
  return new SandboxError("SANDBOX_LOST", "A sandbox of the pool ended by itself");
}

export function tookTooLong(what: string, ms: number): SandboxError {
  return new SandboxError("SANDBOX_START_FAILED", `${what} took longer than ${ms / 1000} s`);
}

export function exhausted(waitedMs: number, { busy, maxInstances, lastFailure }: PoolStatus): SandboxError {
  return new SandboxError(
    "POOL_EXHAUSTED",
    `No sandbox was free within ${waitedMs / 1000} s: ${busy} of ${maxInstances} are in use`,
    { hint: "Release some, or raise maxInstances or acquireTimeoutMs of the pool.", cause: lastFailure },
  );
}
