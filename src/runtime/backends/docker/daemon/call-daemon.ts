import { SandboxError } from "../../../../kit/errors.js";
import { type DockerAddress, describeAddress } from "./address.js";
import { daemonUnreachableHint, explainDockerFailure } from "./explain-failure.js";

/** A daemon's answer, or an error that says what to do. One that hangs must not hang its callers. */
export async function callDaemon<T>(ms: number, answer: Promise<T>, address?: DockerAddress): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new SandboxError(
            "BACKEND_UNAVAILABLE",
            `the Docker daemon${describeAddress(address)} did not answer within ${ms} ms`,
            {
              hint:
                address === undefined || address.local
                  ? "Is it overloaded or stuck?"
                  : daemonUnreachableHint(address),
            },
          ),
        ),
      ms,
    );
  });
  // Whichever loses may still fail, unheard.
  answer.catch(() => undefined);
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    throw explainDockerFailure(error);
  } finally {
    clearTimeout(timer);
  }
}
