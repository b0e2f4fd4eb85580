import type { BackendContext } from "../../backend.js";
import { orphanedMounts } from "../container/sandbox-mounts.js";

/**
 * For a process that uses other backends: removes what a killed one left of its containers, in the daemon too where one
 * answers. Where no mount is left, this looks into one directory and loads nothing.
 */
export async function reapUnusedContainers(context: BackendContext): Promise<number> {
  if (orphanedMounts(context.stateDir).length === 0) return 0;
  const { createDockerBackend } = await import("../backend.js");
  return createDockerBackend(context).reap();
}
