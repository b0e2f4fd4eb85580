import { SandboxError } from "../../../../kit/errors.js";
import { withTimeout } from "../../../../kit/timeout.js";
import { type DockerAddress, describeAddress } from "./address.js";
import { daemonUnreachableHint, explainDockerFailure } from "./explain-failure.js";

/** A daemon's answer, or an error that says what to do. One that hangs must not hang its callers. */
export async function callDaemon<T>(ms: number, answer: Promise<T>, address?: DockerAddress): Promise<T> {
  const late = () =>
    new SandboxError(
      "BACKEND_UNAVAILABLE",
      `the Docker daemon${describeAddress(address)} did not answer within ${ms} ms`,
      {
        hint:
          address === undefined || address.local
            ? "Is it overloaded or stuck?"
            : daemonUnreachableHint(address),
      },
    );
  try {
    return await withTimeout(answer, ms, late);
  } catch (error) {
    throw explainDockerFailure(error);
  }
}
