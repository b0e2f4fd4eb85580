import { type SandboxError, toSandboxError } from "../../../kit/errors.js";
import type { ToolResult } from "../../manager/index.js";

/** How one of a run's tool calls ended: with a result, or because it could not be run. */
export interface CallEnd {
  readonly result?: ToolResult;
  readonly error?: SandboxError;
}

/** Waits for a call without throwing. */
export function endOf(call: Promise<ToolResult>): Promise<CallEnd> {
  return call.then(
    (result) => ({ result }),
    (error: unknown) => ({ error: toSandboxError(error) }),
  );
}

/** Ends that the code inside can bring about: they are its crash, and not for a caller to handle. */
const OF_THE_CODE = ["SANDBOX_LOST", "WIRE_VIOLATION"];

/** Throws when a call could not be run, for reasons that are none of its code's. */
export function throwFailure({ error }: CallEnd): void {
  if (error !== undefined && error.code !== "CANCELLED" && !OF_THE_CODE.includes(error.code)) throw error;
}

/** What ended a call from outside its code; undefined: nothing did. */
export function endedBy({ result, error }: CallEnd) {
  if (error !== undefined) return error.code === "CANCELLED" ? "cancelled" : undefined;
  const reason = result?.reason;
  return reason === "exited" || reason === "signaled" ? undefined : reason;
}

/** In words: "ended with exit code 3". */
export function describeEnd({ result, error }: CallEnd): string {
  if (result === undefined) return `was lost with its sandbox (${error?.message ?? "no reason was given"})`;
  if (result.reason === "signaled") return `was ended by ${result.signal}`;
  if (result.reason === "exited") return `ended with exit code ${result.exitCode}`;
  return `was ended: ${result.error ?? result.reason}`;
}

/** The records that calls have left. */
export function auditIdsOf(ends: readonly CallEnd[]): string[] {
  return ends.flatMap(({ result }) => result?.auditId ?? []);
}
