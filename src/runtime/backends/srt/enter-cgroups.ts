import { writeFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import type { GuestStreams } from "../../wire/index.js";

const TIMEOUT_MS = 20_000;

export interface CgroupEntry {
  /** Files of the sandbox's cgroups that take a pid. */
  readonly entryFiles: readonly string[];
  /** Why the sandbox did not start, when it is known. */
  readonly failed: Promise<SandboxError>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Lets a sandbox in: its first process says its pid on the wire and waits (see host.ts), we put it into its cgroups,
 * and what follows on the wire is the guest's. Nothing hostile runs before that.
 */
export async function enterCgroups(
  { fromGuest, toGuest }: GuestStreams,
  admission: CgroupEntry,
): Promise<number> {
  const line = await firstLine(fromGuest, admission);
  if (!/^[1-9]\d{0,9}$/.test(line))
    throw new SandboxError("SANDBOX_START_FAILED", "The sandbox named no process");
  for (const file of admission.entryFiles) writeFileSync(file, line);
  toGuest.write("\n");
  return Number(line);
}

function firstLine(from: Readable, { failed, signal }: CgroupEntry): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const onData = (chunk: Buffer) => {
      text += chunk.toString("latin1");
      // A process that waits at the gate says nothing after its line.
      if (text.endsWith("\n")) finish(() => resolve(text.slice(0, -1)));
      else if (text.length > 32) finish(() => resolve(""));
    };
    const onAbort = () =>
      finish(() => reject(new SandboxError("CANCELLED", "Starting the sandbox was cancelled")));
    const late = setTimeout(
      () =>
        finish(() =>
          reject(
            new SandboxError("SANDBOX_START_FAILED", `sandbox-runtime was not ready within ${TIMEOUT_MS} ms`),
          ),
        ),
      TIMEOUT_MS,
    );
    const finish = (settle: () => void) => {
      clearTimeout(late);
      signal?.removeEventListener("abort", onAbort);
      from.off("data", onData);
      settle();
    };
    from.on("data", onData);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    failed.then((error) => finish(() => reject(error)));
  });
}
