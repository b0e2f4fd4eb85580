import type { BackendDefinition } from "../definition.js";
import { OPENSANDBOX_DEFAULTS, type OpenSandboxConfig } from "./settings.js";

export type { OpenSandboxConfig } from "./settings.js";

/** Its settings are read already; the backend itself is not here yet. */
export const OPENSANDBOX = {
  settings: {
    defaults: OPENSANDBOX_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).opensandboxSchema,
    hasShortName: true,
  },
} as const satisfies BackendDefinition<OpenSandboxConfig>;
