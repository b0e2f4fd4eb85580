import { SandboxError } from "skerry";
import type { BenchContext } from "./bench-context.js";

/** Why no sandbox of this backend starts here; undefined: one did. */
export async function unavailableReason(bench: BenchContext, backend: string): Promise<string | undefined> {
  const manager = bench.manager({ backend });
  try {
    const sandbox = await manager.startSandbox("probe", { ephemeral: true, signal: bench.signal });
    await sandbox.stop();
    return undefined;
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return [error.message, error.hint].filter((each) => each !== undefined).join(": ");
  } finally {
    await manager.close();
  }
}
