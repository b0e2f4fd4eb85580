import { SandboxError, toSandboxError } from "../../../kit/errors.js";

/** Takes every step, past failures, which it reports together; resolves to the sum. */
export async function reapAll(steps: readonly (() => number | Promise<number>)[]): Promise<number> {
  let count = 0;
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      count += await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 0) return count;
  if (failures.length === 1) throw failures[0];
  const messages = failures.map((failure) => toSandboxError(failure).message);
  throw new SandboxError("INTERNAL", `Not everything could be removed: ${messages.join("; ")}`, {
    cause: new AggregateError(failures),
  });
}
