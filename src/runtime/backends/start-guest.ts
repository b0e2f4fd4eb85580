import { SandboxError } from "../../kit/errors.js";
import { GuestConnection, type GuestStreams } from "../wire/index.js";

const START_TIMEOUT_MS = 20_000;

export interface GreetOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Why the sandbox has not started. */
  readonly failed: Promise<SandboxError>;
}

/** Connects to a guest that is starting; destroying it on failure is the caller's part. */
export async function greetGuest(
  streams: GuestStreams,
  { timeoutMs = START_TIMEOUT_MS, signal, failed }: GreetOptions,
): Promise<GuestConnection> {
  const connection = new GuestConnection(streams);
  const message = `The sandbox did not answer within ${timeoutMs} ms`;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SandboxError>((resolve) => {
    timer = setTimeout(() => resolve(new SandboxError("SANDBOX_START_FAILED", message)), timeoutMs);
  });
  const onAbort = () => connection.close(new SandboxError("CANCELLED", "Starting the sandbox was cancelled"));
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  try {
    const ready = connection.ready.catch((error: SandboxError) => error);
    const outcome = await Promise.race([ready, late, failed]);
    if (outcome === undefined) return connection;
    // When the wire broke, the reason the process gave is the better story.
    const failure = outcome.code === "SANDBOX_LOST" ? await Promise.race([failed, late]) : outcome;
    connection.close(failure);
    throw failure;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
