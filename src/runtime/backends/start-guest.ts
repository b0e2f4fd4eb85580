import { SandboxError } from "../../kit/errors.js";
import { GuestConnection, type GuestStreams } from "../wire/index.js";

/** Connects to a guest that is starting; destroying it on failure is the caller's part. */
export async function greetGuest(
  streams: GuestStreams,
  options: { timeoutMs: number; signal?: AbortSignal | undefined; failed: Promise<SandboxError> },
): Promise<GuestConnection> {
  const connection = new GuestConnection(streams);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SandboxError>((resolve) => {
    timer = setTimeout(
      () =>
        resolve(
          new SandboxError(
            "SANDBOX_START_FAILED",
            `The sandbox did not answer within ${options.timeoutMs} ms`,
          ),
        ),
      options.timeoutMs,
    );
  });
  const onAbort = () => connection.close(new SandboxError("CANCELLED", "Starting the sandbox was cancelled"));
  options.signal?.addEventListener("abort", onAbort, { once: true });
  if (options.signal?.aborted) onAbort();
  try {
    const outcome = await Promise.race([
      connection.ready.catch((error: SandboxError) => error),
      late,
      options.failed,
    ]);
    if (outcome === undefined) return connection;
    // When the wire broke, the reason the process gave is the better story.
    const failure = outcome.code === "SANDBOX_LOST" ? await Promise.race([options.failed, late]) : outcome;
    connection.close(failure);
    throw failure;
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
  }
}
