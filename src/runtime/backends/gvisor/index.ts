import type { BackendDefinition } from "../definition.js";
import { GVISOR_DEFAULTS, type GvisorConfig } from "./settings.js";

export { findRunsc, offerRunsc, REGISTER_RUNSC } from "./register-runsc.js";
export type { GvisorConfig };

export const GVISOR = {
  load: async () => (await import("./backend.js")).createGvisorBackend,
  settings: {
    defaults: GVISOR_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).gvisorSchema,
    basedOn: "docker",
  },
  isInstalledByHand: true,
} as const satisfies BackendDefinition<GvisorConfig>;
