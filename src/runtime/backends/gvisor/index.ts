import type { BackendContext } from "../backend.js";
import type { BackendDefinition } from "../definition.js";
import { loadDockerBackend } from "../docker/index.js";
import { GVISOR_DEFAULTS, type GvisorConfig } from "./settings.js";

export type { GvisorConfig };

/** Docker's backend, with gVisor's kernel between the container and this one. */
export const GVISOR = {
  load: async () => {
    const createDockerBackend = await loadDockerBackend();
    return (context: BackendContext) => createDockerBackend(context, "gvisor", GVISOR_DEFAULTS);
  },
  settings: {
    defaults: GVISOR_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).gvisorSchema,
    basedOn: "docker",
  },
  isInstalledByHand: true,
} as const satisfies BackendDefinition<GvisorConfig>;
