import { SandboxError, toSandboxError } from "../../../kit/errors.js";

/** Throws the failures of a stop: one as it is, several together. */
export function throwStopFailures(
  outcomes: readonly PromiseSettledResult<unknown>[],
  more: readonly unknown[],
): void {
  const rejected = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  const failures = [...rejected, ...more];
  if (failures.length === 0) return;
  if (failures.length === 1) throw toSandboxError(failures[0]);
  const reasons = new Set(failures.map((failure) => toSandboxError(failure).message));
  throw new SandboxError(
    "INTERNAL",
    `${failures.length} sandboxes could not be cleaned up: ${[...reasons].slice(0, 3).join("; ")}`,
    { cause: new AggregateError(failures) },
  );
}
