import { SandboxError } from "../../errors.js";
import { explainDockerFailure } from "./connect.js";

/** A daemon's answer, or an error that says what to do. One that hangs must not hang its callers. */
export async function ask<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new SandboxError("BACKEND_UNAVAILABLE", `the Docker daemon did not answer within ${ms} ms`, {
            hint: "Is it overloaded or stuck? systemctl status docker",
          }),
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
